internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// Envelopes without rows, for one destination: heartbeats, which also carry the results of commands. Each is made afresh for
/// each attempt: nothing of it is frozen, and no answer to it does anything to a row.
///
/// Confined to the uploader's thread.
final class Envelopes {
    private let port: UploaderPort
    private let hub: Hub
    private let maker: ShipmentMaker
    private let report: UploadReport
    private let results: ResultSource
    /// Stands for a session while there has been none.
    private var session: UUIDv7?

    init(
        port: UploaderPort, hub: Hub, maker: ShipmentMaker, report: UploadReport,
        results: ResultSource = ResultSource()
    ) {
        self.port = port
        self.hub = hub
        self.maker = maker
        self.report = report
        self.results = results
    }

    /// Whatever an attempt is made for, it carries a heartbeat that is due: one without would end as if the server had nothing
    /// left to take.
    func isDue(_ attempts: Attempts, now: BootInstant) -> Bool {
        if attempts.schedule.heartbeat.isDue(now: now) { return true }
        return results.isWaiting() && attempts.schedule.heartbeat.pause(now: now) == nil
    }

    /// - Returns: nil when there is nothing to be said, or the format has no place for it.
    func next(
        _ sync: Settings.Sync, _ attempts: inout Attempts, now: BootInstant
    ) throws(StorageError) -> Shipment? {
        guard attempts.schedule.heartbeat.pause(now: now) == nil else { return nil }
        switch sync.format.name.traits.heartbeat {
        case .envelope:
            let (results, position) = try results.take()
            guard attempts.schedule.beginHeartbeat(now: now) || !results.isEmpty else { return nil }
            return try maker.envelope(
                .envelope(
                    status(sync, now: now), results: results, session: latestSession(now: now),
                    extras: JSONString.object(hub.board.extras)),
                position: position, now: now)
        case .position:
            guard attempts.schedule.beginHeartbeat(now: now) else { return nil }
            guard var location = hub.board.readerSnapshot.lastLocation else {
                // There is nothing that could be said; the next one may have a position.
                attempts.requested(now: now)
                attempts.schedule.accepted()
                return nil
            }
            // It says how the vehicle is by now; the rest is of when it was there.
            location.battery = battery(now: now)
            return try maker.envelope(.position(location), position: location.fix.time, now: now)
        case .none: return nil
        }
    }

    /// Settles an envelope: this answer is the last word.
    func settle(
        _ envelope: Shipment, _ reply: ServerAnswer?, _ judgement: Judgement, _ sync: Settings.Sync?,
        _ attempts: inout Attempts, now: BootInstant
    ) throws(StorageError) {
        guard judgement.verdict == .accepted else {
            attempts.schedule.refusedEnvelope(now: now)
            return report.envelopeRefused(judgement.status)
        }
        if let reply { try results.accepted(envelope.id, reply, sync, now) }
        report.heartbeatAccepted(
            envelope.id, bytes: envelope.request.body.count, at: hub.clock.time(now: now))
    }

    private func latestSession(now: BootInstant) -> UUIDv7 {
        if let latest = hub.board.readerSnapshot.change.session { return latest }
        let made = session ?? maker.nextID(now: now)
        session = made
        return made
    }

    /// Seconds for which an envelope waits for a battery.
    private static let batteryPatience = 1.0

    /// Read for each.
    private func battery(now: BootInstant) -> Battery? {
        hub.battery.battery(notOlderThan: 0, patience: Self.batteryPatience, now: now)
    }

    private func status(_ sync: Settings.Sync, now: BootInstant) -> VehicleStatus {
        let reader = hub.board.readerSnapshot
        let counts = hub.store.counts()[port.name] ?? DestinationCounts()
        let commands = Settings.Commands.Name.allCases.filter { sync.commands?.allow.contains($0) ?? false }
        return VehicleStatus(
            state: reader.state.rawValue, motion: reader.motion.rawValue,
            receiver: Wire.SourceHealth(reader.health).rawValue, pending: counts.pending,
            oldestPending: counts.pending > 0 ? counts.oldestPending : nil,
            odometer: reader.odometer.map { Double($0) },
            ignition: reader.vehicle?.isOn, battery: battery(now: now),
            version: Release.version,
            uptime: Int(now.seconds(since: hub.startedAt)), heartbeat: Int(sync.heartbeatSeconds),
            commands: commands.map(\.rawValue),
            fences: commands.contains(.addGeofences) ? reader.fencesOfServers : nil)
    }
}

/// The results of a server's commands, for the envelopes of its destination, as their journal has them. By default there are
/// none.
struct ResultSource {
    /// Whether results have yet to be sent. Asked often: costs nothing.
    var isWaiting: () -> Bool = { false }
    /// Results that have yet to be sent, oldest first, as many as an envelope may hold: a JSON object each;
    /// and the time of the oldest position in them.
    var take: () throws(StorageError) -> (texts: [String], position: Timestamp?) = {
        () throws(StorageError) in ([], nil)
    }
    /// The server has those that were taken last, and this is what it has answered to the envelope of this id.
    /// With the settings by now.
    var accepted: (UUIDv7, ServerAnswer, Settings.Sync?, _ now: BootInstant) throws(StorageError) -> Void = {
        _, _, _, _ throws(StorageError) in
    }
}
