internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization
internal import Upload

/// The uploader thread of one destination: asks `Drain` what to do, does it, and reports the result. One request at a time.
///
/// Confined to its thread.
final class Uploader {
    let hub: Hub
    let port: UploaderPort
    let outbox: Outbox
    var inForce: SettingsInForce {
        didSet { destination = inForce.settings.destination(port.name.text) }
    }
    /// What the settings in force say of the destination. Found once: each step of a drain asks for it several times.
    private(set) var destination: Settings.Destination?
    /// That of later settings, by which all will be begun that has not been yet.
    private var promised = 0
    var attempts: Attempts
    var drain = Drain()
    var carrier: Carrier
    let queue: BatchQueue
    /// nil unless the destination gets only the newest location.
    var lane: LatestQueue?
    let postscripts: Postscripts
    let tokens: TokenKeeper
    let commands: CommandRunner
    let listener: CommandListener
    let report: UploadReport
    /// The destination is not configured any more.
    var hasEnded = false

    /// Rows; a drain of as many fills SQLite's cache, and leaves holes all over the heap.
    static let longDrain = 2000

    /// - Returns: nil when libcurl cannot work here.
    init?(
        port: UploaderPort, hub: Hub, inForce: SettingsInForce, installID: String, tokens: TokenStore,
        random: RandomSource = RandomSource(), now: BootInstant
    ) {
        let sync = inForce.settings.sync(of: port.name.text)
        guard
            let carrier = Carrier(
                version: Release.version, installID: installID, destination: port.name.text,
                memory: BrokerMemory(in: hub.store, of: port.name), random: random)
        else { return nil }
        self.hub = hub
        self.port = port
        self.inForce = inForce
        destination = inForce.settings.destination(port.name.text)
        let outbox = Outbox(hub: hub)
        self.outbox = outbox
        self.carrier = carrier
        queue = BatchQueue(
            port: port, hub: hub, installID: installID, sync,
            tellsOdometer: inForce.settings.vehicle.tellsOdometer, random: random)
        commands = CommandRunner(port: port, hub: hub, outbox: outbox)
        listener = CommandListener(port: port, hub: hub, installID: installID)
        report = UploadReport(port: port, board: hub.board, post: { outbox.post($0) })
        postscripts = Postscripts(
            port: port, hub: hub, maker: queue, report: report,
            results: ResultOutlet(of: listener, for: commands, hub, port))
        self.tokens = TokenKeeper(
            store: tokens, port: port, board: hub.board, clock: hub.clock, report: report,
            shared: hub.uploaders.tokens, random: random, now: now)
        attempts = Attempts(DrainRules(sync), board: hub.board, random: random, now: now)
    }

    /// Runs until the daemon stops.
    func run() {
        let start = BootInstant.current()
        port.work.begin(start)
        apply(now: start)
        recallRefusal()
        obey(now: start)
        if sync != nil, report.snapshot.storageError != nil || pending > 0 || commands.hasWork {
            attempts.trigger(.started, now: start)
        }
        endStep(now: start)
        while !isStopping {
            let now = BootInstant.current()
            port.work.begin(now)
            runCommands(now: now)
            if mayUpload(now: now) { upload(now: now) } else { idle(now: now) }
            // A drain has taken its time.
            let end = BootInstant.current()
            endStep(now: end)
            port.work.rest()
            if !isStopping { waitForWork(now: end) }
        }
        carrier.disconnect()
        outbox.post(.uploaderEnded(port.name))
        endStep(now: .current())
    }

    /// The destination's table; nil while it has no url.
    var sync: Settings.Sync? { destination?.sync }

    var pending: Int {
        if let lane { return lane.hasNews ? 1 : 0 }
        return hub.store.counts()[port.name]?.pending ?? 0
    }

    /// When the next drain is due; nil for never. Where only the newest location counts, that also means that the server has
    /// it: the next one to be stored goes as soon as the schedule allows.
    var uploadDue: BootInstant? {
        guard sync != nil, lane?.hasNews ?? true || attempts.isForced || drain.isOwed else { return nil }
        return attempts.due
    }

    /// The same, or when a heartbeat is due, or the log.
    var due: BootInstant? {
        guard sync != nil else { return nil }
        let logDue = port.log.due.flatMap { attempts.admits($0) }
        return [uploadDue, attempts.heartbeatDue, logDue].compactMap(\.self).min()
    }

    var isStopping: Bool { hasEnded || hub.board.isStopping.load(ordering: .relaxed) }

    private func waitForWork(now: BootInstant) {
        var poll = PollSet()
        poll.add(port.commands.wakeup.descriptor)
        poll.add(carrier.descriptor)
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

    /// Shows how things stand, and only then says what there is to say: after each step of a drain, and at the end of each turn.
    func endStep(now: BootInstant) {
        report.heartbeats(
            sync?.heartbeatSeconds ?? 0, next: attempts.heartbeatDue,
            pausedUntil: attempts.heartbeat.pause(now: now))
        report.publish(
            retries: attempts.retries, nextAttempt: uploadDue, auth: tokens.state(now: now),
            revision: max(inForce.revision, promised))
        outbox.send()
    }

    /// Tokens are being exchanged, for longer than a client can wait, and nothing else is begun meanwhile. So new settings that
    /// leave the exchange as it is hold from now on, though they are taken up after it: before the first byte of what follows.
    func adoptAhead(now: BootInstant) {
        guard let new = port.settings.waiting, new.revision > max(inForce.revision, promised) else { return }
        let later = new.settings.destination(port.name.text)
        guard let later, let destination, later.sync.auth == destination.sync.auth,
            later.sync.url == destination.sync.url, later.sync.proxy == destination.sync.proxy,
            later.sharesMainTokens == destination.sharesMainTokens
        else { return }
        promised = new.revision
        endStep(now: now)
    }

    /// Nothing is to be sent.
    private func idle(now: BootInstant) {
        // Without a url there is nobody to stay connected with.
        if sync == nil { carrier.disconnect() }
        if let farewell = carrier.tend() {
            Log.info(.uploadFailed, "\(farewell); the next message to \(port.name) makes another")
            report.unrequested(carrier.unrequested, now: now)
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
                with: RequestFactory(sync, version: Release.version), isIdle: true, now: now,
                meanwhile: adoptAhead)
        }
        attempts.metered.refreshesDone()
    }
}

extension BrokerMemory {
    /// In the database.
    fileprivate init(in store: Store, of name: DestinationName) {
        self.init(
            // While nobody knows, nothing is guessed.
            knowsNew: { url in (try? store.knownBroker(of: name)).map { $0 == url.fingerprint } ?? true },
            // What the disk does not take now is learned again with the next start.
            learnNew: { url in try? store.set(knownBroker: url.fingerprint, of: name) })
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
            logEnded: { commands.errandEnded($0, $1, now: $2) },
            accepted: { (id, reply, sync, now) throws(StorageError) in
                guard commands.isEnabled else { return }
                let journaling = try listener.acceptedResults(reply, to: id, sync, now: now)
                commands.journaled(journaling, isAnswerToRows: false)
                commands.proceed(now: now)
            })
    }
}
