internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization
internal import Upload

/// The uploader of one destination: asks `Drain` what to do, does it, and reports the result. One request at a time.
///
/// Confined to its thread.
final class Uploader: Turns {
    let hub: Hub
    let port: UploaderPort
    let outbox: Outbox
    var inForce: SettingsInForce {
        didSet { destination = inForce.settings.destination(port.name.text) }
    }
    /// What the settings in force say of the destination. Found once: each step of a drain asks for it several times.
    private(set) var destination: Settings.Destination?
    var attempts: Attempts
    var drain = Drain()
    /// The drain under way.
    var attempt: DrainAttempt?
    /// What goes out in it; after it what the server has, if the disk did not let it be deleted.
    var shipment: Shipment?
    var carrier: Carrier
    let maker: ShipmentMaker
    let queue: BatchQueue
    /// nil unless the destination gets only the newest location.
    var latest: LatestLocation?
    let envelopes: Envelopes
    let log: LogSender
    let tokens: TokenKeeper
    let commands: CommandRunner
    let listener: CommandListener
    let homeAssistant: HomeAssistantKeeper
    let report: UploadReport
    /// The destination is not configured any more.
    var hasEnded = false
    private var hasBegun = false

    /// Rows; a drain of as many fills SQLite's cache, and leaves holes all over the heap.
    static let longDrain = 2000

    /// - Parameter transport: makes what takes requests; nil when libcurl cannot work here.
    /// - Returns: nil when nothing can take requests.
    init?(
        port: UploaderPort, hub: Hub, inForce: SettingsInForce, installID: String, tokens: TokenStore,
        transport: @escaping () -> (any HTTPTransport)? = { HTTPClient() },
        random: RandomSource = RandomSource(), now: BootInstant
    ) {
        let sync = inForce.settings.sync(of: port.name.text)
        guard let http = transport() else { return nil }
        carrier = Carrier(
            http, version: Release.version, installID: installID, destination: port.name.text,
            memory: BrokerMemory(in: hub.store, of: port.name), random: random)
        self.hub = hub
        self.port = port
        self.inForce = inForce
        destination = inForce.settings.destination(port.name.text)
        let outbox = Outbox(hub: hub)
        self.outbox = outbox
        let maker = ShipmentMaker(
            installID: installID, sync, tellsOdometer: inForce.settings.vehicle.tellsOdometer,
            clock: hub.clock, random: random)
        self.maker = maker
        queue = BatchQueue(port: port, hub: hub, maker: maker)
        let commands = CommandRunner(port: port, hub: hub, outbox: outbox)
        self.commands = commands
        listener = CommandListener(port: port, hub: hub, installID: installID)
        homeAssistant = HomeAssistantKeeper(port: port, hub: hub, installID: installID, random: random)
        report = UploadReport(port: port, board: hub.board, post: { outbox.post($0) })
        envelopes = Envelopes(
            port: port, hub: hub, maker: maker, report: report,
            results: ResultSource(of: listener, for: commands, hub, port))
        log = LogSender(
            port: port, startedAt: hub.startedAt, maker: maker, report: report,
            ended: { commands.uploadEnded($0, $1, now: $2) })
        self.tokens = TokenKeeper(
            store: tokens, port: port, board: hub.board, clock: hub.clock, report: report,
            shared: hub.uploaders.tokens, transport: transport, random: random, now: now)
        attempts = Attempts(DrainRules(sync), board: hub.board, random: random, now: now)
    }

    /// What it was left with. The board shows how that stands before anything is done about it.
    private func begin(now: BootInstant) {
        hasBegun = true
        apply(now: now)
        recallRefusal()
        obey(now: now)
        if sync != nil, report.snapshot.storageError != nil || pending > 0 || commands.hasWork {
            attempts.trigger(.started, now: now)
        }
    }

    /// Goes on with what is under way, or begins what is due.
    ///
    /// - Returns: nil once the daemon stops, or the destination is gone.
    func turn(now: BootInstant, stopwatch: Stopwatch, after _: Rest) -> Rest? {
        guard hasBegun else {
            begin(now: now)
            return Rest.none
        }
        runCommands(now: now)
        if homeAssistant.isUnderway { return followHomeAssistant(now: now) }
        if attempt != nil { return proceed(now: now, stopwatch) }
        if tokens.isExchanging { return refresh(now: now) }
        if isStopping {
            carrier.disconnect()
            outbox.post(.uploaderEnded(port.name))
            return nil
        }
        if mayUpload(now: now) {
            beginDrain(now: now)
            return proceed(now: now, stopwatch)
        }
        return idle(now: now)
    }

    /// The destination's table; nil while it has no url.
    var sync: Settings.Sync? { destination?.sync }

    var pending: Int {
        if let latest { return latest.hasNews ? 1 : 0 }
        return hub.store.counts()[port.name]?.pending ?? 0
    }

    /// When the next drain is due; nil for never. Where only the newest location counts, that also means that the server has
    /// it: the next one to be stored goes as soon as the schedule allows.
    var uploadDue: BootInstant? {
        guard sync != nil, latest?.hasNews ?? true || attempts.schedule.isForced || drain.isOwed else {
            return nil
        }
        return attempts.schedule.due
    }

    /// When an upload, a heartbeat or the log is due.
    var due: BootInstant? {
        guard sync != nil else { return nil }
        let logDue = port.log.due.flatMap { attempts.schedule.admits($0) }
        return [uploadDue, attempts.schedule.heartbeatDue, logDue].compactMap(\.self).min()
    }

    var isStopping: Bool { hasEnded || hub.board.isStopping.load(ordering: .relaxed) }

    /// The rest until something is due, or has come.
    private func restUntilDue(now: BootInstant) -> Rest {
        var rest = carrier.tendingRest
        rest.add(port.commands.wakeup.descriptor)
        latest?.awaitNews()
        rest.end(by: homeAssistant.removalDue(inForce.settings))
        guard sync != nil else { return rest }
        rest.end(
            by: attempts.metered.wakeUp(
                upload: due, refresh: tokens.idleDue(now: now), announcement: homeAssistant.due))
        rest.end(by: commands.due)
        return rest
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
        let (pending, oldest) = (pending, latest == nil ? hub.store.counts()[port.name]?.oldestPending : nil)
        let age = oldest.flatMap { oldest in hub.clock.trusted(now: now)?.seconds(since: oldest) } ?? 0
        // Where nothing is pending, or it is only to be deleted, no network is needed.
        let isAsked =
            attempts.isAskedFor || drain.isOwed
            || pending == 0 && !isMoreDue(isForced: attempts.schedule.isForced, now: now)
        let isAdmitted = attempts.metered.admitsUpload(
            sync, isForced: isAsked, overdue: max(age - sync.intervalSeconds, 0), now: now)
        report.deferred(!isAdmitted, pending: pending, cap: inForce.settings.store.maxRows, now: now)
        return isAdmitted
    }

    /// Something besides rows is to be sent.
    func isMoreDue(isForced: Bool, now: BootInstant) -> Bool {
        log.isDue(isForced: isForced, now: now) || envelopes.isDue(attempts, now: now)
    }

    func answer() { outbox.send() }

    func publish(now: BootInstant) {
        report.heartbeats(
            sync?.heartbeatSeconds ?? 0, next: attempts.schedule.heartbeatDue,
            pausedUntil: attempts.schedule.heartbeat.pause(now: now))
        report.homeAssistant(homeAssistant.words(inForce.settings))
        report.publish(
            retries: attempts.schedule.retries, nextAttempt: uploadDue, auth: tokens.state(now: now),
            revision: inForce.revision)
    }

    /// A turn without a drain: tends the connection, refreshes tokens, tells Home Assistant, or rests.
    private func idle(now: BootInstant) -> Rest {
        // Without a url there is nobody to stay connected with.
        if sync == nil { carrier.disconnect() }
        let farewell = carrier.tend(now: now)
        homeAssistant.observe(&carrier, isLost: farewell != nil, sync, now: now)
        if let farewell {
            Log.info(.uploadFailed, "\(farewell); the next message to \(port.name) makes another")
            report.unrequested(carrier.unrequested, now: now)
        }
        if refreshesWhenIdle(now: now) { return refresh(now: now) }
        if beginsHomeAssistant(now: now) { return followHomeAssistant(now: now) }
        return restUntilDue(now: now)
    }

    /// Begins to refresh a token that is about to expire, or tries dead ones once more, though there is nothing to upload.
    private func refreshesWhenIdle(now: BootInstant) -> Bool {
        guard let sync, let due = tokens.idleDue(now: now), due <= now,
            attempts.metered.admitsRefresh(sync, now: now)
        else { return false }
        let factory = RequestFactory(sync, version: Release.version)
        if tokens.begin(with: factory, isIdle: true, now: now) == nil { return true }
        attempts.metered.refreshesDone()
        return false
    }

    /// Goes on with such a refresh. Nothing else is begun before it has ended.
    private func refresh(now: BootInstant) -> Rest {
        guard tokens.advance(isStopping: isStopping, now: now) == nil else {
            attempts.metered.refreshesDone()
            return .none
        }
        return tokenRest(now: now)
    }

    /// The rest until the exchange of tokens can go on, or something has come.
    func tokenRest(now: BootInstant) -> Rest {
        var rest = tokens.rest(now: now)
        rest.add(port.commands.wakeup.descriptor)
        return rest
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

extension ResultSource {
    /// The results that the journal of commands has to send.
    fileprivate init(
        of listener: CommandListener, for commands: CommandRunner, _ hub: Hub, _ port: UploaderPort
    ) {
        self.init(
            isWaiting: { commands.isEnabled && hub.store.counts().commands[port.name]?.results ?? 0 > 0 },
            take: { () throws(StorageError) in
                commands.isEnabled ? try listener.takeResults() : ([], nil)
            },
            accepted: { (id, reply, sync, now) throws(StorageError) in
                guard commands.isEnabled else { return }
                let journaling = try listener.acceptedResults(reply, to: id, sync, now: now)
                commands.journaled(journaling, isAnswerToRows: false)
                commands.proceed(now: now)
            })
    }
}

/// What Home Assistant is told, between two steps of a drain or between drains.
extension Uploader {
    /// Begins to tell it what is new, in a drain: where that may go out, this may.
    ///
    /// - Returns: whether something is under way.
    func announces(now: BootInstant) -> Bool {
        guard let sync, !isStopping else { return false }
        homeAssistant.observe(&carrier, isLost: false, sync, now: now)
        guard homeAssistant.isDue(now: now) else { return false }
        // What is to be removed may be at the same broker, under another url.
        if let due = homeAssistant.removalDue(inForce.settings), due <= now { return false }
        homeAssistant.beginTelling(&carrier, sync, now: now)
        return homeAssistant.isUnderway
    }

    /// Begins what is due while nothing else is.
    ///
    /// - Returns: whether something is under way.
    func beginsHomeAssistant(now: BootInstant) -> Bool {
        if let trouble = hub.announcements.takeTrouble() {
            hub.board.note(damaged: trouble.name)
            Log.error(
                .fileDamaged,
                trouble.text + ": what brokers retain for Home Assistant may have to be removed there by hand"
            )
        }
        if let due = homeAssistant.removalDue(inForce.settings), due <= now {
            homeAssistant.beginRemoval(&carrier, inForce.settings, now: now)
        } else if let sync, homeAssistant.isDue(now: now),
            attempts.metered.admitsAnnouncement(sync, now: now)
        {
            homeAssistant.beginTelling(&carrier, sync, now: now)
            attempts.metered.announcementsDone()
        }
        return homeAssistant.isUnderway
    }

    /// Goes on with what is under way. Nothing else is begun before it has ended.
    func followHomeAssistant(now: BootInstant) -> Rest {
        if isStopping { homeAssistant.cancel(&carrier) }
        guard var rest = homeAssistant.proceed(&carrier, sync, now: now) else { return .none }
        rest.add(port.commands.wakeup.descriptor)
        return rest
    }
}
