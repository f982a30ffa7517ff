internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// Carries out the methods of the control interface: answers at once from snapshots and history, or leaves a note in the
/// mailbox of the thread that can.
final class Handlers {
    enum Answer {
        case reply([UInt8])
        /// Another thread answers.
        case later(Token)
        case history(Pages)
        /// Geofences page by page, requested from the reader.
        case geofences
        case subscription(Connection.Subscription)
    }

    /// The group that may say where data goes and may delete it.
    private static let adminGroup = "beekon-admin"
    static let eventKinds: Set<String> = ["location", "geofence_event", "state", "source", "sync", "auth"]

    let hub: Hub
    let directory: String
    let installID: String
    let startedAt: BootInstant
    let configurator: Configurator
    /// For what makes beekond ask the backend at once.
    private var attempts = Allowance(burst: 60, perSecond: 1)
    private let adminGroupID = groupID(named: adminGroup)
    private(set) var lastToken: Token = 0
    /// Fences that the reader has not accepted yet, by call.
    var fencesWaiting: [Token: Int] = [:]

    init(
        hub: Hub, directory: String, installID: String, configurator: Configurator, startedAt: BootInstant
    ) {
        self.hub = hub
        self.directory = directory
        self.installID = installID
        self.configurator = configurator
        self.startedAt = startedAt
    }

    /// In force.
    var settings: Settings { configurator.loaded.settings }

    /// - Throws: a `ControlError` for the client.
    func handle(_ call: Call, peer: Peer) throws -> Answer {
        // After an answer that the caller took for consent, its bytes would be taken for calls.
        if call.upgrade { throw ControlError.invalidParameter("upgrade") }
        return switch call.method {
        case Wire.GetInfo.name: try info(call)
        case Wire.GetInterfaceDescription.name: try interfaceDescription(call)
        case Wire.GetStatus.name: try status(call)
        case Wire.Start.name: try start(call, peer)
        case Wire.Stop.name: try stop(call, peer)
        case Wire.Sync.name: try sync(call, peer)
        case Wire.Rebatch.name: try rebatch(call, peer)
        case Wire.Resend.name: try resend(call, peer)
        case Wire.GetPendingUploadCount.name: try pendingCount(call)
        case Wire.GetLocations.name: try locations(call)
        case Wire.GetSessions.name: try sessions(call)
        case Wire.DeleteLocations.name: try delete(call, peer)
        case Wire.GetConfig.name: try config(call)
        case Wire.Configure.name: try configure(call, peer)
        case Wire.ResetConfig.name: try resetConfig(call, peer)
        case Wire.Reload.name: try reload(call, peer)
        case Wire.SeedAuth.name: try seedAuth(call, peer)
        case Wire.GetExtras.name: try extras(call)
        case Wire.SetExtras.name: try setExtras(call, peer)
        case Wire.GetRejected.name: try rejected(call)
        case Wire.RetryRejected.name: try retryRejected(call, peer)
        case Wire.PurgeRejected.name: try purgeRejected(call, peer)
        case Wire.AddGeofences.name: try addGeofences(call, peer)
        case Wire.RemoveGeofences.name: try removeGeofences(call, peer)
        case Wire.ListGeofences.name: try listGeofences(call)
        case Wire.GetGeofenceEvents.name: try geofenceEvents(call)
        case Wire.GetCurrentLocation.name: try currentLocation(call)
        case Wire.Subscribe.name: try subscribe(call)
        default: throw InterfaceDescription.refusal(of: call)
        }
    }

    // MARK: Service

    private func info(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetInfo.self)
        return .reply(
            try Reply.encode(
                Wire.GetInfo.self,
                .init(
                    vendor: "beekond", product: "beekond", version: Release.version,
                    url: "https://beekond.org",
                    interfaces: [Wire.serviceInterface, Wire.trackerInterface])))
    }

    private func interfaceDescription(_ call: Call) throws -> Answer {
        let name = try call.parameters(of: Wire.GetInterfaceDescription.self).interface
        guard let description = InterfaceDescription.named(name) else {
            throw ControlError.interfaceNotFound(name)
        }
        return .reply(
            try Reply.encode(Wire.GetInterfaceDescription.self, .init(description: description.text)))
    }

    // MARK: Tracking and upload

    private func start(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.Start.self)
        log(call, peer)
        return try ask { .start($0) }
    }

    private func stop(_ call: Call, _ peer: Peer) throws -> Answer {
        _ = try call.parameters(of: Wire.Stop.self)
        log(call, peer)
        return try ask { .stop($0) }
    }

    private func delete(_ call: Call, _ peer: Peer) throws -> Answer {
        let parameters = try call.parameters(of: Wire.DeleteLocations.self)
        try requireAdmin(peer)
        let cutoff = try time(parameters.before)
        log(call, peer)
        return try ask { .delete(before: cutoff, $0) }
    }

    private func sync(_ call: Call, _ peer: Peer) throws -> Answer {
        let waits = try call.parameters(of: Wire.Sync.self).wait ?? true
        log(call, peer)
        if settings.sync != nil {
            try takeAttempt()
            let token = nextToken()
            let isWaitedFor = waits && !call.oneway
            try post(isWaitedFor ? .sync(token) : .trigger(.command))
            if isWaitedFor { return .later(token) }
        }
        let pending = hub.store.counts().pending
        let outcome: SyncResult.Outcome =
            settings.sync == nil ? .disabled : pending > 0 ? .transient : .nothingPending
        return .reply(
            try Reply.encode(
                Wire.Sync.self, .init(outcome: outcome.rawValue, uploaded: 0, pending: pending)))
    }

    private func pendingCount(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetPendingUploadCount.self)
        return .reply(
            try Reply.encode(Wire.GetPendingUploadCount.self, .init(count: hub.store.counts().pending)))
    }

    func ask(_ command: (Token) -> ReaderCommand) throws -> Answer {
        let token = nextToken()
        guard hub.reader.post(command(token)) else { throw ControlError.rateLimited(retryAfterSeconds: 1) }
        return .later(token)
    }

    func post(_ command: UploaderCommand) throws(ControlError) {
        guard hub.uploader.post(command) else { throw .rateLimited(retryAfterSeconds: 1) }
    }

    /// What makes beekond ask the backend at once, whatever back-off or `Retry-After` say, is not to be had without end.
    func takeAttempt() throws(ControlError) {
        guard let wait = attempts.take(now: .current()) else { return }
        throw .rateLimited(retryAfterSeconds: wait)
    }

    func nextToken() -> Token {
        lastToken += 1
        return lastToken
    }

    // MARK: Rights

    /// Root, the user that the daemon runs as, who could delete the files anyway, and the group of administrators.
    func requireAdmin(_ peer: Peer) throws(ControlError) {
        if isRoot(peer) { return }
        guard let adminGroupID, peer.groups.contains(adminGroupID) else { throw .permissionDenied }
    }

    /// Also true for the user that the daemon runs as, who can read its files.
    func isRoot(_ peer: Peer) -> Bool { peer.uid == 0 || peer.uid == ownUID() }

    func log(_ call: Call, _ peer: Peer) {
        Log.info(.control, "\(call.member) by \(peer.description)", fields(call, peer))
    }

    func logDenial(_ call: Call, _ peer: Peer) {
        Log.warning(.control, "\(call.member) denied to \(peer.description)", fields(call, peer))
    }

    func fields(_ call: Call, _ peer: Peer) -> [(Log.Field, String)] {
        [(.method, call.method), (.uid, "\(peer.uid)"), (.pid, "\(peer.pid)")]
    }
}
