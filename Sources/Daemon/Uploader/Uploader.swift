internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The uploader thread of one destination: asks `Drain` what to do, does it, and reports the result. One request at a time.
///
/// Confined to its thread.
final class Uploader {
    private let hub: Hub
    private let port: UploaderPort
    private var inForce: SettingsInForce
    private var attempts: Attempts
    private var drain = Drain()
    private var carrier: Carrier
    private let queue: BatchQueue
    /// nil unless the destination gets only the newest location.
    private var lane: LatestQueue?
    private let postscripts: Postscripts
    let tokens: TokenKeeper
    private let commands: CommandRunner
    private let listener: CommandListener
    private let report: UploadReport
    /// The destination is not configured any more.
    private var hasEnded = false

    /// Rows; a drain of as many fills SQLite's cache, and leaves holes all over the heap.
    private static let longDrain = 2000

    /// - Returns: nil when libcurl cannot work here.
    init?(
        port: UploaderPort, hub: Hub, inForce: SettingsInForce, installID: String, tokens: TokenStore,
        now: BootInstant
    ) {
        let sync = inForce.settings.sync(of: port.name.text)
        guard
            let carrier = Carrier(
                version: Release.version, installID: installID, destination: port.name.text)
        else { return nil }
        self.hub = hub
        self.port = port
        self.inForce = inForce
        self.carrier = carrier
        queue = BatchQueue(port: port, hub: hub, installID: installID, sync)
        commands = CommandRunner(port: port, hub: hub)
        listener = CommandListener(port: port, hub: hub, installID: installID)
        report = UploadReport(port: port, board: hub.board, post: { hub.post($0) })
        postscripts = Postscripts(
            port: port, hub: hub, maker: queue, report: report,
            results: ResultOutlet(of: listener, for: commands, hub, port))
        self.tokens = TokenKeeper(
            store: tokens, port: port, board: hub.board, clock: hub.clock, report: report,
            shared: hub.uploaders.tokens, now: now)
        attempts = Attempts(DrainRules(sync), board: hub.board, now: now)
    }

    /// Runs until the daemon stops.
    func run() {
        apply()
        obey(now: .current())
        if sync != nil, report.snapshot.storageError != nil || pending > 0 || commands.hasWork {
            attempts.trigger(.started, now: .current())
        }
        while !isStopping {
            let now = BootInstant.current()
            port.work.begin(now)
            runCommands(now: now)
            if mayUpload(now: now) { upload() } else { idle(now: now) }
            publish()
            port.work.rest()
            if !isStopping { waitForWork() }
        }
        carrier.disconnect()
        hub.post(.uploaderEnded(port.name))
    }

    /// The destination's table; nil while it has no url.
    var sync: Settings.Sync? { destination?.sync }

    private var destination: Settings.Destination? { inForce.settings.destination(port.name.text) }

    private var pending: Int {
        if let lane { return lane.hasNews ? 1 : 0 }
        return hub.store.counts()[port.name]?.pending ?? 0
    }

    /// When the next drain is due; nil for never. Where only the newest location counts, that also means that the server has
    /// it: the next one to be stored goes as soon as the schedule allows.
    private var uploadDue: BootInstant? {
        guard sync != nil, lane?.hasNews ?? true || attempts.isForced || drain.isOwed else { return nil }
        return attempts.due
    }

    /// The same, or when a heartbeat is due.
    private var due: BootInstant? {
        sync == nil ? nil : [uploadDue, attempts.heartbeatDue].compactMap(\.self).min()
    }

    private var isStopping: Bool { hasEnded || hub.board.isStopping.load(ordering: .relaxed) }

    private func waitForWork() {
        var poll = PollSet()
        poll.add(port.commands.wakeup.descriptor)
        poll.add(carrier.descriptor)
        let now = BootInstant.current()
        lane?.awaitNews()
        let dues =
            sync == nil
            ? []
            : [
                attempts.metered.wakeUp(upload: due, refresh: tokens.idleDue(now: now)), carrier.due,
                commands.due,
            ]
        poll.wait(seconds: dues.compactMap(\.self).min().map { max($0.seconds(since: now), 0) })
    }

    /// An upload is due, and not held back.
    private func mayUpload(now: BootInstant) -> Bool {
        guard let sync, let due, due <= now else {
            attempts.metered.noUploadDue()
            report.deferred(false, now: now)
            return false
        }
        guard sync.triggers.metered != nil else {
            report.deferred(false, now: now)
            return true
        }
        let (pending, oldest) = (pending, lane == nil ? hub.store.counts()[port.name]?.oldestPending : nil)
        let age = oldest.flatMap { oldest in hub.clock.trusted(now: now)?.seconds(since: oldest) } ?? 0
        // Where nothing is pending, or it is only to be deleted, no network is needed.
        let isAsked =
            attempts.isAskedFor || drain.isOwed || pending == 0 && !postscripts.isDue(attempts, now: now)
        let isAdmitted = attempts.metered.admitsUpload(
            sync, isForced: isAsked, overdue: max(age - sync.intervalSeconds, 0), now: now)
        report.deferred(!isAdmitted, pending: pending, cap: inForce.settings.store.maxRows, now: now)
        return isAdmitted
    }

    private func publish() {
        report.heartbeats(
            sync?.heartbeatSeconds ?? 0, next: attempts.heartbeatDue,
            pausedUntil: attempts.heartbeat.pause(now: .current()))
        report.publish(
            retries: attempts.retries, nextAttempt: uploadDue, auth: tokens.state(now: .current()))
    }

    /// Nothing is to be sent.
    private func idle(now: BootInstant) {
        // Without a url there is nobody to stay connected with.
        if sync == nil { carrier.disconnect() }
        if let farewell = carrier.tend() {
            Log.info(.uploadFailed, "\(farewell); the next message to \(port.name) makes another")
        }
        refreshWhenIdle(now: now)
    }

    /// Refreshes a token that is about to expire, or tries dead ones once more, though there is nothing to upload.
    private func refreshWhenIdle(now: BootInstant) {
        guard let sync, let due = tokens.idleDue(now: now), due <= now,
            attempts.metered.admitsRefresh(sync, now: now)
        else { return }
        report.keepingLastError {
            tokens.exchange(
                with: RequestFactory(sync, version: Release.version), over: &carrier.http, isIdle: true)
        }
        attempts.metered.refreshesDone()
        carrier.rest(sync)
        publish()
    }

    // MARK: Commands

    /// Runs what others have asked for, between two steps of a drain or between drains.
    ///
    /// Tokens belong to the host of the settings that they were given for: those come into force before them, and no later
    /// ones do. So what was posted before new settings is done before they are.
    func runCommands(now: BootInstant) {
        for command in port.commands.takeAll() { run(command, now: now) }
        while let latest = port.settings.take() {
            for command in port.commands.takeAll() { run(command, now: now) }
            configure(latest, now: now)
        }
        followServer(now: now)
    }

    /// Goes on with what the server has asked for.
    private func followServer(now: BootInstant) {
        commands.proceed(now: now)
        if commands.takeResults() { attempts.trigger(.results, now: now) }
    }

    private func run(_ command: UploaderCommand, now: BootInstant) {
        switch command {
        case .trigger(let trigger):
            if case .networkReturned = trigger {
                tokens.networkReturned()
                carrier.networkReturned()
            }
            attempts.trigger(trigger, now: now)
        case .sync(let token): sync(token, now: now)
        case .abort(let batches):
            if let current = report.snapshot.inFlightBatch, batches.contains(current) { drain.abort() }
        case .erased(let cutoff):
            if lane?.holds(upTo: cutoff) == true || postscripts.holds(upTo: cutoff) { drain.abort() }
        case .rebatch(let token): hub.complete(token, rebatch().map { .rebatched($0) })
        case .seed(let pair, let settings, let token):
            configure(settings, now: now)
            hub.complete(token, seed(pair, now: now).map { .done })
        case .storageRecovered:
            commands.storageRecovered()
            if report.snapshot.storageError != nil {
                attempts.trigger(.change, now: now)
            }
        // It is enough to be awake.
        case .routesChanged: break
        case .commandEnded(let command, let outcome): commands.ended(command, outcome, now: now)
        case .end: hasEnded = true
        }
    }

    private func sync(_ token: Token, now: BootInstant) {
        guard sync != nil else {
            let result = SyncResult(outcome: .disabled, uploaded: 0, pending: pending)
            return hub.complete(token, .success(.synced(result)))
        }
        attempts.ask(token, now: now)
    }

    private func seed(_ pair: Tokens, now: BootInstant) -> Result<Void, Failure> {
        let result = tokens.seed(pair)
        guard case .success = result else { return result }
        carrier.forgetSessions()
        attempts.trigger(.change, now: now)
        Log.notice(.tokenRefreshed, "new tokens have been given")
        publish()
        return result
    }

    private func rebatch() -> Result<Rebatched, Failure> {
        guard !drain.isOwed else {
            return .failure(
                .init(
                    kind: .noRebatch,
                    reason: "the batch has been acknowledged, which only waits for the disk"))
        }
        let result = queue.dissolve()
        if case .success(let dissolved) = result {
            if report.snapshot.inFlightBatch == dissolved.batch { drain.abort() }
            report.dissolved(dissolved, sync)
        }
        return result
    }

    private func configure(_ latest: SettingsInForce, now: BootInstant) {
        guard latest.revision > inForce.revision else { return }
        let old = destination
        inForce = latest
        defer { obey(now: now) }
        guard destination != old else { return }
        attempts.metered.configured(isElsewhere: sync?.nextHop != old?.sync.nextHop)
        let isOtherRequest =
            sync?.request != old?.sync.request || destination?.sharesMainTokens != old?.sharesMainTokens
        drain.change(isEnabled: sync != nil, isOtherRequest: isOtherRequest)
        // Another server has nothing yet.
        if sync?.fingerprint != old?.sync.fingerprint { lane = nil }
        if sync?.url != old?.sync.url || sync?.format.name != old?.sync.format.name {
            attempts.serverChanged()
        }
        apply()
        if let sync { attempts.change(DrainRules(sync), now: now) }
    }

    /// Whether the server may ask for something. What was to be done for one that may not any more is refused: it must not
    /// be done long after, when it may again.
    private func obey(now: BootInstant) {
        commands.configure(isEnabled: sync?.commands != nil && lane == nil)
        guard port.name == .main, !hub.store.counts().commands.isEmpty else { return }
        let obeyed = inForce.settings.allDestinations.first { $0.sync.commands != nil }
        let error = CommandError(.notAllowed, "this server may not command any more").text
        // If it fails, the next start does it.
        _ = try? hub.store.refuseCommands(
            besides: obeyed.flatMap { DestinationName($0.name) }, error: error, at: hub.clock.time(now: now))
    }

    private func apply() {
        queue.configure(sync)
        lane =
            sync?.isLatestOnly == true
            ? lane ?? LatestQueue(port: port, hub: hub, maker: queue, report: report) : nil
        report.configured(sync)
        tokens.configure(sync, sharesMain: destination?.sharesMainTokens == true, now: .current())
        do {
            if lane == nil { try queue.registerEndpoint(sync) }
        } catch {
            report.endpointUnwritten(error, now: .current())
        }
    }

    // MARK: Draining

    /// One drain, from its trigger to its result.
    private func upload() {
        let isForced = attempts.isForced
        let askers = attempts.begin(now: .current())
        let before = report.snapshot.uploaded
        // While storage fails nobody knows what is pending.
        let hadWork =
            drain.isOwed || report.snapshot.storageError != nil || pending > 0
        let isMore = postscripts.isDue(attempts, now: .current())
        let outcome = runDrain(hasWork: hadWork || isMore, isForced: isForced)
        // The reader reports what has happened to the database.
        if hadWork { hub.reader.wakeup.signal() }
        let ended = BootInstant.current()
        // One connection for each drain: nothing is held open until the next, which may be hours away, unless it is to be.
        carrier.rest(sync)
        lane?.end()
        postscripts.end()
        if !drain.isOwed { queue.endBatch() }
        let delay = isStopping ? nil : attempts.end(outcome, now: ended)
        report.drainEnded(
            outcome, retryIn: delay, hadWork: hadWork || isMore, isOwed: drain.isOwed,
            authAdvice: tokens.advice,
            sync, now: ended)
        publish()
        // The url may have been removed meanwhile: pending rows then stay pending.
        let result = SyncResult(
            outcome: sync == nil ? .disabled : SyncResult.Outcome(outcome, hadWork: hadWork),
            uploaded: report.snapshot.uploaded - before, pending: pending)
        for token in askers { hub.complete(token, .success(.synced(result))) }
        if result.uploaded >= Self.longDrain { queue.releaseMemory() }
    }

    private func runDrain(hasWork: Bool, isForced: Bool) -> DrainOutcome {
        var step = drain.begin(hasWork: hasWork, isForced: isForced)
        while true {
            switch step {
            case .finish(let outcome): return outcome
            case .perform(let action):
                port.work.begin(.current())
                let event: Drain.Event
                do {
                    event = try perform(action)
                } catch {
                    report.storageFailed(error)
                    event = .storageFailed
                }
                if isStopping { drain.stop() }
                step = drain.handle(event)
            }
        }
    }

    private func perform(_ action: Drain.Action) throws(StorageError) -> Drain.Event {
        if let event = try postscripts.perform(action, sync, &attempts) { return event }
        if let event = try lane?.perform(action) { return event }
        switch action {
        case .registerEndpoint:
            try queue.registerEndpoint(sync)
            return .done
        case .freezeNext:
            guard let sync, let batch = try queue.freezeNext(sync) else { return .nothingPending }
            report.frozen(batch)
            return .frozen(rows: batch.rows, isIsolating: sync.onReject == .isolate)
        case .checkToken(let isForced): return .token(tokens.check(isForced: isForced, now: .current()))
        case .checkRefusedToken(let isForced):
            return .token(tokens.checkRefused(isForced: isForced, now: .current()))
        case .refreshToken: return .token(exchangeToken())
        case .awaitAnswer: return try awaitAnswer()
        case .cancelRequest:
            carrier.cancel()
            report.cancelled(now: .current())
            report.requestEnded()
            return .cancelled
        case .send:
            if let postscript = postscripts.current { return send(postscript) }
            return try send(batch())
        // Carried out above.
        case .makePostscript, .settle: return .done
        case .record(let judgement):
            try record(judgement, batch())
            return .done
        case .countTimeout:
            report.oversized(try queue.count(.tooSlow, batch()))
            return .done
        case .acknowledge(let freezesNext):
            let batch = try batch()
            let heard = sync?.commands == nil ? nil : try listener.take(now: .current())
            let journaling = try queue.acknowledge(
                batch, freezingNextFor: freezesNext ? sync : nil, journaling: heard)
            report.acknowledged(batch, at: hub.clock.time(now: .current()))
            listener.written(journaling)
            commands.journaled(journaling, isAnswerToRows: true)
            followServer(now: .current())
            return .done
        case .reject(let status):
            let batch = try batch()
            let (fate, expired) = try queue.reject(batch, status: status)
            report.expired(expired)
            return rejected(batch, fate)
        case .isolate:
            let batch = try batch()
            return rejected(batch, try queue.isolate(batch, for: sync))
        case .markPermanent:
            try queue.markPermanent(batch())
            return .done
        case .weighRefusal(let doubt, let isScheduled):
            let status = report.snapshot.lastHTTPStatus ?? 0
            let mayBeBlamed = try queue.weighRefusal(
                of: batch(), doubt, status: status, isScheduled: isScheduled)
            return mayBeBlamed ? .mayBeBlamed : .done
        case .freezeProbe:
            guard let sync, let probe = try queue.freezeProbe(sync) else { return .nothingPending }
            return .frozen(rows: probe.rows, isIsolating: false)
        case .condemn:
            guard let (batch, fate, expired) = try queue.condemn() else { return .done }
            report.expired(expired)
            report.blamed(status: queue.record.status)
            return rejected(batch, fate)
        }
    }

    private func batch() throws(StorageError) -> FrozenBatch {
        if let batch = lane?.current ?? queue.current { return batch }
        throw StorageError(operation: "upload", kind: .other, message: "no batch is under way")
    }

    private func exchangeToken() -> Drain.TokenCheck {
        guard let sync else { return .due(hasToken: false) }
        let check = tokens.exchange(
            with: RequestFactory(sync, version: Release.version), over: &carrier.http, isIdle: false)
        publish()
        return check
    }

    private func send(_ batch: FrozenBatch) throws(StorageError) -> Drain.Event {
        guard let sync, let request = lane?.request ?? queue.request else { return .gone }
        // Before the store is asked: whoever dissolves the batch after the store's answer aborts the request.
        report.claimed(batch.id)
        guard lane?.current != nil ? true : try queue.beginAttempt(batch) else {
            report.requestEnded()
            return .gone
        }
        return begin(request, of: batch.id, to: sync)
    }

    private func send(_ postscript: Postscripts.Current) -> Drain.Event {
        guard let sync else { return .gone }
        return begin(postscript.request, of: postscript.id, to: sync)
    }

    private func begin(_ request: Request, of id: UUIDv7, to sync: Settings.Sync) -> Drain.Event {
        let now = BootInstant.current()
        // The log says nothing of the vehicle.
        if postscripts.current?.kind != .log { attempts.requested(now: now) }
        report.sending(id, request, at: hub.clock.time(now: now), now: now)
        publish()
        carrier.begin(
            request, of: id, to: sync, authorization: tokens.authorise(),
            keepsBody: postscripts.current == nil ? sync.commands != nil : postscripts.readsAnswer,
            at: hub.clock.time(now: now), now: now)
        // What has arrived meanwhile may prevent the first byte from being sent.
        runCommands(now: .current())
        return .underway
    }

    private func awaitAnswer() throws(StorageError) -> Drain.Event {
        switch carrier.advance(wakeup: port.commands.wakeup) {
        case .underway:
            runCommands(now: .current())
            return .underway
        case .ended(let delivery):
            report.requestEnded()
            attempts.metered.connected(to: carrier.peer)
            if postscripts.current == nil, let format = queue.request?.format,
                queue.record.observe(.init(delivery), in: format),
                case .failure(let failure) = delivery
            {
                report.failed(failure, now: .current())
                return .closed
            }
            return try event(delivery)
        }
    }

    private func event(_ delivery: Delivery) throws(StorageError) -> Drain.Event {
        switch delivery {
        case .cancelled:
            report.cancelled(now: .current())
            return .cancelled
        case .failure(let failure):
            report.failed(failure, now: .current())
            return .failed(isForTime: failure.isForTime)
        case .answer(let reply):
            if let postscript = postscripts.current { return answered(reply, to: postscript) }
            guard let batch = lane?.current ?? queue.current, let request = lane?.request ?? queue.request
            else { return .gone }
            let now = BootInstant.current()
            var judgement = reply.judged(
                as: request.format, of: batch.id, by: sync, at: hub.clock.time(now: now))
            if sync?.rejects(judgement, in: request.format) == true { judgement.verdict = .rejected }
            tokens.note(judgement.verdict)
            if judgement.verdict == .accepted {
                attempts.accepted()
                if lane == nil { listener.hear(reply, to: batch.id, sync) }
            }
            report.answered(judgement, now: now)
            if judgement.verdict == .unauthorised, judgement.broker != nil, try queue.renewTopic(of: batch) {
                return .gone
            }
            return .answered(judgement, canRenew: tokens.isActive)
        }
    }

    private func answered(_ reply: Upload.Reply, to postscript: Postscripts.Current) -> Drain.Event {
        let now = BootInstant.current()
        var sync = sync
        // Nobody but the server decides what the log is answered with.
        if postscript.kind == .log { sync?.requireAck = false }
        let judgement = reply.judged(
            as: postscript.request.format, of: postscript.id, by: sync, at: hub.clock.time(now: now))
        if postscript.kind == .envelope {
            tokens.note(judgement.verdict)
            if judgement.verdict == .accepted { attempts.accepted() }
        }
        postscripts.answered(reply)
        report.answered(judgement, now: now)
        return .answered(judgement, canRenew: tokens.isActive)
    }

    private func record(_ judgement: Judgement, _ batch: FrozenBatch) throws(StorageError) {
        report.recorded(judgement, of: batch)
        // Accepted, it will be forgotten with the batch.
        if judgement.verdict != .accepted { report.oversized(try queue.count(judgement.size, batch)) }
    }

    private func rejected(_ batch: FrozenBatch, _ fate: BatchQueue.Fate) -> Drain.Event {
        report.rejected(fate, batch)
        switch fate {
        case .deadLettered, .split: return .done
        case .suspected: return .suspected
        case .full: return .full
        }
    }
}

extension ResultOutlet {
    /// That of the journal.
    fileprivate init(
        of listener: CommandListener, for commands: CommandRunner, _ hub: Hub, _ port: UploaderPort
    ) {
        self.init(
            readsAnswers: { commands.isEnabled },
            isWaiting: { commands.isEnabled && hub.store.counts().commands[port.name]?.results ?? 0 > 0 },
            take: { () throws(StorageError) in
                commands.isEnabled ? try listener.takeResults() : ([], nil)
            },
            accepted: { (id, reply, sync) throws(StorageError) in
                guard commands.isEnabled else { return }
                let journaling = try listener.acceptedResults(reply, to: id, sync)
                commands.journaled(journaling, isAnswerToRows: false)
                commands.proceed(now: .current())
            })
    }
}
