internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking

/// The methods of the control interface: what only asks is answered at once from snapshots and history, everything else
/// becomes a command.
final class Handlers {
    /// Encodes the reply from the result of a command.
    typealias Encoder = (Completion) throws -> [UInt8]

    enum Answer {
        case reply([UInt8])
        /// Once the command is completed; without an encoder the caller wants no reply.
        case later(Token, Encoder?)
        case history(Pages)
        /// Geofences page by page, requested from the reader.
        case geofences(Request)
        case subscription(ClientConnection.Subscription)
    }

    /// The group that may say where data goes and may delete it.
    private static let adminGroup = "beekon-admin"
    private static let eventKinds: Set<String> = [
        "location", "geofence_event", "vehicle_event", "state", "source", "sync", "auth", "http", "command",
    ]

    let hub: Hub
    let configurator: Configurator
    let dispatcher: Dispatcher
    let status: StatusReport
    private let adminGroupID = groupID(named: adminGroup)

    init(hub: Hub, configurator: Configurator, dispatcher: Dispatcher, status: StatusReport) {
        self.hub = hub
        self.configurator = configurator
        self.dispatcher = dispatcher
        self.status = status
    }

    /// - Parameter waiter: is given the result of a command that is answered later.
    /// - Throws: a `ControlError` or a `Failure` for the client.
    func handle(
        _ call: Call, peer: Peer, now: BootInstant, waiter: @escaping Dispatcher.Waiter
    ) throws -> Answer {
        // After an answer that the caller took for consent, its bytes would be taken for calls.
        if call.upgrade { throw ControlError.invalidParameter("upgrade") }
        let request = Request(call: call, caller: caller(call, peer), now: now, waiter: waiter)
        return switch call.method {
        case Wire.GetInfo.name: try info(call)
        case Wire.GetInterfaceDescription.name: try interfaceDescription(call)
        case Wire.GetStatus.name: try status(request)
        case Wire.GetMetrics.name: try metrics(request)
        case Wire.Start.name: try start(request)
        case Wire.Stop.name: try stop(request)
        case Wire.Sync.name: try sync(request)
        case Wire.Rebatch.name: try rebatch(request)
        case Wire.Resend.name: try resend(request)
        case Wire.BackfillDestination.name: try backfill(request)
        case Wire.ForgetDestination.name: try forgetDestination(request)
        case Wire.GetPendingUploadCount.name: try pendingCount(call)
        case Wire.GetLocations.name: try locations(call)
        case Wire.GetSessions.name: try sessions(call)
        case Wire.GetTrips.name: try trips(call)
        case Wire.SetOdometer.name: try setOdometer(request)
        case Wire.GetLocationCount.name: try count(call)
        case Wire.DeleteLocations.name: try delete(request)
        case Wire.GetConfig.name: try config(call)
        case Wire.Configure.name: try configure(request)
        case Wire.ResetConfig.name: try resetConfig(request)
        case Wire.ResetServerConfig.name: try resetServerConfig(request)
        case Wire.Reload.name: try reload(request)
        case Wire.SeedAuth.name: try seedAuth(request)
        case Wire.GetExtras.name: try extras(call)
        case Wire.SetExtras.name: try setExtras(request)
        case Wire.GetRejected.name: try rejected(call)
        case Wire.GetCommands.name: try commands(call)
        case Wire.RetryRejected.name: try retryRejected(request)
        case Wire.PurgeRejected.name: try purgeRejected(request)
        case Wire.AddGeofences.name: try addGeofences(request)
        case Wire.RemoveGeofences.name: try removeGeofences(request)
        case Wire.ListGeofences.name: try listGeofences(request)
        case Wire.GetGeofenceEvents.name: try geofenceEvents(call)
        case Wire.GetEvents.name: try events(call)
        case Wire.GetCurrentLocation.name: try currentLocation(request)
        case Wire.SetMotion.name: try setMotion(request)
        case Wire.SetIgnition.name: try setIgnition(request)
        case Wire.Subscribe.name: try subscribe(request)
        default: throw InterfaceDescription.refusal(of: call)
        }
    }

    private func caller(_ call: Call, _ peer: Peer) -> Caller {
        let origin = Command.Origin(
            uid: peer.uid, groups: peer.groups, daemonUser: ownUID(), adminGroup: adminGroupID)
        return Caller(
            origin: origin, request: call.member, name: peer.description,
            fields: [(.method, call.method), (.uid, "\(peer.uid)"), (.pid, "\(peer.pid)")])
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

    // MARK: How things stand

    private func status(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.GetStatus.self)
        return .reply(
            try Reply.encode(Wire.GetStatus.self, .init(status: status.status(now: request.now))))
    }

    private func metrics(_ request: Request) throws -> Answer {
        _ = try request.call.parameters(of: Wire.GetMetrics.self)
        return .reply(
            try Reply.encode(
                Wire.GetMetrics.self,
                .init(status: status.status(now: request.now), counters: status.counters())))
    }

    private func pendingCount(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetPendingUploadCount.self)
        return .reply(
            try Reply.encode(Wire.GetPendingUploadCount.self, .init(count: hub.store.counts().pending)))
    }

    private func config(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetConfig.self)
        let overridden = configurator.overridden
        let settings = configurator.loaded.listing.map {
            Wire.Setting($0, overridesServer: overridden.contains($0.key))
        }
        return .reply(try Reply.encode(Wire.GetConfig.self, .init(settings: settings)))
    }

    private func extras(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.GetExtras.self)
        return .reply(try Reply.encode(Wire.GetExtras.self, .init(extras: hub.board.extras)))
    }

    private func subscribe(_ request: Request) throws -> Answer {
        let call = request.call
        let kinds = try call.parameters(of: Wire.Subscribe.self).kinds
        if let kinds, !Self.eventKinds.isSuperset(of: kinds) { throw ControlError.invalidParameter("kinds") }
        guard call.more else { throw ControlError.expectedMore }
        var subscription = ClientConnection.Subscription(kinds: kinds.map { Set($0) })
        // Whoever wants everything is not meant to be sent each batch as well.
        subscription.showsBodies =
            kinds?.contains("http") == true
            && Authority.decideSeeingRequests(for: request.caller.origin) == .granted
        // The present first, so that no change falls between a question and the subscription.
        for event in status.present(now: request.now) { subscription.add(event) }
        return .subscription(subscription)
    }
}
