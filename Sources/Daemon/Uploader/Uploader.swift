internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The uploader thread of one destination: asks `Drain` what to do, does it, and says how it went. One request at a time.
///
/// Confined to its thread.
final class Uploader {
    private let hub: Hub
    private let port: UploaderPort
    private var inForce: SettingsInForce
    private var schedule: DrainSchedule
    private var drain = Drain()
    private var client: HTTPClient
    private let queue: BatchQueue
    let tokens: TokenKeeper
    private let report: UploadReport
    private var random = SystemRandomNumberGenerator()
    /// Clients that asked for an attempt and wait for its result.
    private var waiting: [Token] = []
    /// The destination is not configured any more.
    private var hasEnded = false

    /// Rows; a drain of as many fills SQLite's cache, and leaves holes all over the heap.
    private static let longDrain = 2000

    /// - Returns: nil when libcurl or zlib cannot work here.
    init?(
        port: UploaderPort, hub: Hub, inForce: SettingsInForce, installID: String, tokens: TokenStore,
        now: BootInstant
    ) {
        let sync = inForce.settings.sync(of: port.name.text)
        guard let client = HTTPClient(),
            let queue = BatchQueue(port: port, hub: hub, installID: installID, sync)
        else { return nil }
        self.hub = hub
        self.port = port
        self.inForce = inForce
        self.client = client
        self.queue = queue
        report = UploadReport(port: port, board: hub.board, post: { hub.post($0) })
        self.tokens = TokenKeeper(
            store: tokens, port: port, board: hub.board, clock: hub.clock, report: report, now: now)
        schedule = DrainSchedule(interval: sync?.intervalSeconds ?? 300, now: now, using: &random)
    }

    /// Runs until the daemon stops.
    func run() {
        apply()
        if sync != nil, report.snapshot.storageError != nil || pending > 0 {
            schedule.trigger(.started, now: .current(), using: &random)
        }
        while !isStopping {
            let now = BootInstant.current()
            port.work.begin(now)
            runCommands(now: now)
            if sync != nil, schedule.due <= now { upload() } else { refreshWhenIdle(now: now) }
            publish()
            port.work.rest()
            if !isStopping { waitForWork() }
        }
        client.disconnect()
        hub.post(.uploaderEnded(port.name))
    }

    /// The destination's table; nil while it has no url.
    var sync: Settings.Sync? { inForce.settings.sync(of: port.name.text) }

    private var pending: Int { hub.store.counts()[port.name]?.pending ?? 0 }

    private var isStopping: Bool { hasEnded || hub.board.isStopping.load(ordering: .relaxed) }

    private func waitForWork() {
        var poll = PollSet()
        poll.add(port.commands.wakeup.descriptor)
        let now = BootInstant.current()
        let due = sync == nil ? nil : min(schedule.due, tokens.idleDue(now: now) ?? schedule.due)
        poll.wait(seconds: due.map { max($0.seconds(since: now), 0) })
    }

    private func publish() {
        report.publish(
            retries: schedule.retries, nextAttempt: sync == nil ? nil : schedule.due,
            auth: tokens.state(now: .current()))
    }

    /// Refreshes a token that is about to expire, or tries dead ones once more, though there is nothing to upload.
    private func refreshWhenIdle(now: BootInstant) {
        guard let sync, let due = tokens.idleDue(now: now), due <= now else { return }
        report.keepingLastError {
            tokens.exchange(with: RequestFactory(sync, version: Release.version), over: &client, isIdle: true)
        }
        client.disconnect()
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
    }

    private func run(_ command: UploaderCommand, now: BootInstant) {
        switch command {
        case .trigger(let trigger):
            if case .networkReturned = trigger { tokens.networkReturned() }
            schedule.trigger(trigger, now: now, using: &random)
        case .sync(let token): sync(token, now: now)
        case .abort(let batches):
            if let current = report.snapshot.inFlightBatch, batches.contains(current) { drain.abort() }
        case .rebatch(let token): hub.complete(token, rebatch().map { .rebatched($0) })
        case .seed(let pair, let settings, let token):
            configure(settings, now: now)
            hub.complete(token, seed(pair, now: now).map { .done })
        case .storageRecovered:
            if report.snapshot.storageError != nil {
                schedule.trigger(.command, now: now, using: &random)
            }
        case .end: hasEnded = true
        }
    }

    private func sync(_ token: Token, now: BootInstant) {
        guard sync != nil else {
            let result = SyncResult(outcome: .disabled, uploaded: 0, pending: pending)
            return hub.complete(token, .success(.synced(result)))
        }
        waiting.append(token)
        schedule.trigger(.command, now: now, using: &random)
    }

    private func seed(_ pair: Tokens, now: BootInstant) -> Result<Void, Failure> {
        let result = tokens.seed(pair)
        guard case .success = result else { return result }
        client.forgetSessions()
        schedule.trigger(.command, now: now, using: &random)
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
        let old = sync
        inForce = latest
        guard sync != old else { return }
        drain.change(isEnabled: sync != nil, isOtherRequest: sync?.request != old?.request)
        apply()
        if let sync {
            schedule.change(interval: sync.intervalSeconds, now: now, using: &random)
            schedule.trigger(.command, now: now, using: &random)
        }
    }

    private func apply() {
        queue.configure(sync)
        report.configured(sync)
        tokens.configure(sync, now: .current())
        do {
            try queue.registerEndpoint(sync)
        } catch {
            report.endpointUnwritten(error, now: .current())
        }
    }

    // MARK: Draining

    /// One drain, from its trigger to its result.
    private func upload() {
        let isForced = schedule.isForced
        schedule.begin(now: .current(), using: &random)
        // Whoever asks while this drain runs gets another one.
        let askers = waiting
        waiting = []
        let before = report.snapshot.uploaded
        // While storage fails nobody knows what is pending.
        let hadWork =
            drain.isOwed || report.snapshot.storageError != nil || pending > 0
        let outcome = runDrain(hasWork: hadWork, isForced: isForced)
        // The reader reports what has happened to the database.
        if hadWork { hub.reader.wakeup.signal() }
        let ended = BootInstant.current()
        // One connection for each drain: nothing is held open until the next, which may be hours away.
        client.disconnect()
        if !drain.isOwed { queue.endBatch() }
        let delay = isStopping ? nil : schedule.end(outcome, now: ended, using: &random)
        report.drainEnded(
            outcome, retryIn: delay, hadWork: hadWork, isOwed: drain.isOwed, authAdvice: tokens.advice,
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
        case .awaitAnswer: return awaitAnswer()
        case .cancelRequest:
            client.cancel()
            report.cancelled(now: .current())
            report.requestEnded()
            return .cancelled
        case .send: return try send(batch())
        case .record(let judgement):
            try record(judgement, batch())
            return .done
        case .countTimeout:
            report.oversized(try queue.count(.tooSlow, batch()))
            return .done
        case .acknowledge(let freezesNext):
            let batch = try batch()
            try queue.acknowledge(batch, freezingNextFor: freezesNext ? sync : nil)
            report.acknowledged(batch, at: hub.clock.time(now: .current()))
            return .done
        case .reject(let status):
            let batch = try batch()
            let (fate, expired) = try queue.reject(batch, status: status)
            report.expired(expired)
            return rejected(batch, fate)
        case .isolate:
            let batch = try batch()
            return rejected(batch, try queue.isolate(batch))
        case .markPermanent:
            try queue.markPermanent(batch())
            return .done
        }
    }

    private func batch() throws(StorageError) -> FrozenBatch {
        if let batch = queue.current { return batch }
        throw StorageError(operation: "upload", kind: .other, message: "no batch is under way")
    }

    private func exchangeToken() -> Drain.TokenCheck {
        guard let sync else { return .due(hasToken: false) }
        let check = tokens.exchange(
            with: RequestFactory(sync, version: Release.version), over: &client, isIdle: false)
        publish()
        return check
    }

    private func send(_ batch: FrozenBatch) throws(StorageError) -> Drain.Event {
        guard let sync, let request = queue.request else { return .gone }
        // Before the store is asked: whoever dissolves the batch after its answer aborts the request.
        report.claimed(batch.id)
        guard try queue.beginAttempt(batch) else {
            report.requestEnded()
            return .gone
        }
        let now = BootInstant.current()
        report.sending(batch.id, request, at: hub.clock.time(now: now), now: now)
        publish()
        let options = RequestFactory(sync, version: Release.version).options(
            for: request, authorization: tokens.authorise())
        client.begin(
            request.body, options, keepsBody: request.format.readsBody(acknowledging: sync.requireAck),
            resumingAt: .current())
        // What has come in meanwhile may keep the first byte from being sent.
        runCommands(now: .current())
        return .underway
    }

    private func awaitAnswer() -> Drain.Event {
        switch client.advance(wakeup: port.commands.wakeup) {
        case .underway:
            runCommands(now: .current())
            return .underway
        case .ended(let outcome):
            report.requestEnded()
            return event(outcome)
        }
    }

    private func event(_ outcome: HTTPOutcome) -> Drain.Event {
        switch outcome {
        case .cancelled:
            report.cancelled(now: .current())
            return .cancelled
        case .failure(let failure):
            report.failed(failure, now: .current())
            return .failed(isForTime: failure.isForTime)
        case .answer(let answer):
            guard let batch = queue.current, let request = queue.request else { return .gone }
            let demanded = sync?.requireAck == false ? nil : batch.id
            let now = BootInstant.current()
            var judgement = request.format.judge(
                answer, acknowledging: demanded, at: hub.clock.time(now: now))
            if sync?.rejects(judgement, in: request.format) == true { judgement.verdict = .rejected }
            tokens.note(judgement.verdict)
            report.answered(judgement, now: now)
            return .answered(judgement, canRenew: tokens.isActive)
        }
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
