internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// What goes out after the rows of one destination: the log that its server has asked for, and envelopes without rows, which
/// are heartbeats and carry results of commands. Each is made afresh for each attempt: nothing of it is frozen, and no answer
/// to it does anything to a row.
///
/// Confined to the uploader's thread.
final class Postscripts {
    /// What is under way.
    struct Current {
        var kind: Drain.Postscript
        var id: UUIDv7
        var request: Request
        /// Of the position in it; nil when there is none.
        var time: Timestamp?
    }

    private let port: UploaderPort
    private let hub: Hub
    /// Makes the requests, in the format that is configured.
    private let maker: BatchQueue
    private let report: UploadReport
    private let results: ResultOutlet
    private(set) var current: Current?
    /// The answer to it.
    private var answer: Upload.Reply?
    /// The log may be tried in this drain, once: what comes after it does not wait for it.
    private var mayTryLog = false
    private var isForced = false
    /// Stands for a session while there has been none.
    private var session: UUIDv7?

    init(
        port: UploaderPort, hub: Hub, maker: BatchQueue, report: UploadReport,
        results: ResultOutlet = ResultOutlet()
    ) {
        self.port = port
        self.hub = hub
        self.maker = maker
        self.report = report
        self.results = results
    }

    /// Something is to be sent besides rows. Whatever an attempt is made for, it carries a heartbeat that is due: one without
    /// would end as if the server had nothing left to take.
    func isDue(_ attempts: Attempts, now: BootInstant) -> Bool {
        if let due = port.log.due, isForced || attempts.isForced || due <= now { return true }
        if attempts.heartbeat.isDue(now: now) { return true }
        return results.isWaiting() && attempts.heartbeat.pause(now: now) == nil
    }

    /// Whether a position that the user has deleted is under way.
    ///
    /// - Parameter cutoff: what is deleted; nil: everything.
    func holds(upTo cutoff: Timestamp?) -> Bool {
        guard let time = current?.time else { return false }
        return cutoff.map { time <= $0 } ?? true
    }

    /// A drain begins.
    ///
    /// - Parameter isForced: the user asks for it, so nothing is put off.
    func begin(isForced: Bool) {
        mayTryLog = true
        self.isForced = isForced
    }

    /// It has been answered.
    func answered(_ reply: Upload.Reply) {
        answer = reply
    }

    /// The drain has ended.
    func end() {
        (current, answer) = (nil, nil)
    }

    /// Does what it is for postscripts to do.
    ///
    /// - Returns: nil for what is not about them.
    func perform(
        _ action: Drain.Action, _ sync: Settings.Sync?, _ attempts: inout Attempts, now: BootInstant
    ) throws(StorageError) -> Drain.Event? {
        switch action {
        case .makePostscript:
            end()
            guard let sync else { return .nothingPending }
            current = try log(sync, now: now)
            if current == nil { current = try envelope(sync, &attempts, now: now) }
            return current.map { .made($0.kind) } ?? .nothingPending
        case .record(let judgement):
            guard let current else { return nil }
            report.recorded(judgement, bytes: current.request.body.count)
            return .done
        case .settle(let judgement):
            try settle(judgement, sync, &attempts, now: now)
            return .done
        case .registerEndpoint, .freezeNext:
            end()
            return nil
        case .checkToken, .checkRefusedToken, .refreshToken, .awaitToken, .send, .awaitAnswer, .cancelRequest,
            .countTimeout,
            .acknowledge, .reject, .isolate, .markPermanent, .weighRefusal, .freezeProbe, .condemn:
            return nil
        }
    }

    // MARK: Envelopes without rows

    private func envelope(
        _ sync: Settings.Sync, _ attempts: inout Attempts, now: BootInstant
    ) throws(StorageError) -> Current? {
        guard attempts.heartbeat.pause(now: now) == nil else { return nil }
        switch sync.format.name.traits.heartbeat {
        case .envelope:
            let (results, position) = try results.take()
            guard attempts.beginHeartbeat(now: now) || !results.isEmpty else { return nil }
            let sign = RequestMaker.Sign.envelope(
                status(now: now), results: results, session: latestSession(now: now),
                extras: JSONString.object(hub.board.extras))
            var made = try current(sign, now: now)
            made.time = position
            return made
        case .position:
            guard attempts.beginHeartbeat(now: now) else { return nil }
            guard var location = hub.board.readerSnapshot.lastLocation else {
                // There is nothing that could be said; the next one may have a position.
                attempts.requested(now: now)
                attempts.accepted()
                return nil
            }
            // It says how the vehicle is by now; the rest is of when it was there.
            location.battery = battery(now: now)
            var made = try current(.position(location), now: now)
            made.time = location.fix.time
            return made
        case .none: return nil
        }
    }

    private func current(_ sign: RequestMaker.Sign, now: BootInstant) throws(StorageError) -> Current {
        let (id, request) = try maker.encode(sign, now: now)
        return Current(kind: .envelope, id: id, request: request)
    }

    private func latestSession(now: BootInstant) -> UUIDv7 {
        if let latest = hub.board.readerSnapshot.change.session { return latest }
        let minted = session ?? maker.mint(now: now)
        session = minted
        return minted
    }

    /// Seconds for which an envelope waits for a battery.
    private static let batteryPatience = 1.0

    /// Read for each.
    private func battery(now: BootInstant) -> Battery? {
        hub.battery.battery(notOlderThan: 0, patience: Self.batteryPatience, now: now)
    }

    private func status(now: BootInstant) -> VehicleStatus {
        let reader = hub.board.readerSnapshot
        let counts = hub.store.counts()[port.name] ?? DestinationCounts()
        return VehicleStatus(
            state: reader.state.rawValue, motion: reader.motion.rawValue,
            receiver: Wire.SourceHealth(reader.health).rawValue, pending: counts.pending,
            oldestPending: counts.pending > 0 ? counts.oldestPending : nil,
            odometer: reader.odometer.map { Double($0) },
            ignition: reader.vehicle?.isOn, battery: battery(now: now),
            version: Release.version,
            uptime: Int(now.seconds(since: hub.startedAt)))
    }

    // MARK: The log

    private func log(_ sync: Settings.Sync, now: BootInstant) throws(StorageError) -> Current? {
        guard mayTryLog, let due = port.log.due, isForced || due <= now else { return nil }
        (mayTryLog, isForced) = (false, false)
        guard sync.mqtt == nil, let lines = Log.kept() else {
            endLog(CommandError(.notAllowed, "no log is kept for it any more"), now: now)
            return nil
        }
        guard port.log.begin() else {
            endLog(CommandError(.failed, "the log did not get through"), now: now)
            return nil
        }
        let uptime = Int(now.seconds(since: hub.startedAt))
        let head = "beekond \(Release.version), installation \(maker.installID), up \(uptime) s\n"
        let (id, request) = try maker.encode(log: Array(head.utf8) + lines, at: port.log.path, now: now)
        return Current(kind: .log, id: id, request: request)
    }

    /// - Parameter error: why it was not sent; nil: it was.
    private func endLog(_ error: CommandError?, now: BootInstant) {
        guard let command = port.log.done() else { return }
        results.logEnded(command, CommandOutcome(error: error?.text), now)
    }

    private func settleLog(_ judgement: Judgement, now: BootInstant) {
        let isAccepted = judgement.verdict == .accepted
        report.logSent(judgement.status, isAccepted: isAccepted, at: port.log.path)
        if case .transient(let retryAfter) = judgement.verdict, port.log.postpone(by: retryAfter, now: now) {
            return
        }
        endLog(
            isAccepted ? nil : CommandError(.failed, "the server answers \(judgement.status) to the log"),
            now: now)
    }

    // MARK: Answers

    private func settle(
        _ judgement: Judgement, _ sync: Settings.Sync?, _ attempts: inout Attempts, now: BootInstant
    ) throws(StorageError) {
        guard let current else { return }
        let time = hub.clock.time(now: now)
        switch (current.kind, judgement.verdict) {
        case (.log, _): settleLog(judgement, now: now)
        case (.envelope, .accepted):
            if let answer { try results.accepted(current.id, answer, sync, now) }
            report.heartbeatAccepted(current.id, bytes: current.request.body.count, at: time)
        case (.envelope, _):
            attempts.refusedEnvelope(now: now)
            report.envelopeRefused(judgement.status)
        }
        end()
    }
}

/// The results of a server's commands, for the envelopes of its destination, as their journal has them. By default there are
/// none.
struct ResultOutlet {
    /// Commands are read in answers.
    var readsAnswers: () -> Bool = { false }
    /// Some results have yet to be sent. Asked often: costs nothing.
    var isWaiting: () -> Bool = { false }
    /// Those that have yet to be sent, oldest first, as many as an envelope may hold: a JSON object each; and the time of the
    /// oldest position in them.
    var take: () throws(StorageError) -> (texts: [String], position: Timestamp?) = {
        () throws(StorageError) in ([], nil)
    }
    /// The log that a command has asked for has been sent, or is given up.
    var logEnded: (_ command: String, CommandOutcome, _ now: BootInstant) -> Void = { _, _, _ in }
    /// The server has those that were taken last, and this is what it has answered to the envelope of this id.
    /// With the settings by now.
    var accepted: (UUIDv7, Upload.Reply, Settings.Sync?, _ now: BootInstant) throws(StorageError) -> Void = {
        _, _, _, _ throws(StorageError) in
    }
}

extension Drain.Postscript {
    /// What its request carries.
    var shipment: ShipmentKind {
        switch self {
        case .log: .log
        case .envelope: .envelope
        }
    }
}
