internal import Base
internal import ControlProtocol
internal import Storage

/// What the daemon is, and how things stand.
enum ServiceMethods: MethodGroup {
    static var methods: [Method] {
        Method.question(Wire.GetInfo.self, for: .members) { _, _, _ in
            .init(
                vendor: "beekond", product: "beekond", version: Release.version,
                url: "https://beekond.org",
                interfaces: [Wire.serviceInterface, Wire.trackerInterface])
        }
        Method.question(Wire.GetInterfaceDescription.self, for: .members) { _, parameters, _ in
            guard let description = InterfaceDescription.named(parameters.interface) else {
                throw ControlError.interfaceNotFound(parameters.interface)
            }
            return .init(description: description.text)
        }
        Method.question(Wire.GetStatus.self, for: .members) { handlers, _, now in
            .init(status: handlers.status.status(now: now))
        }
        Method.question(Wire.GetMetrics.self, for: .members) { handlers, _, now in
            .init(status: handlers.status.status(now: now), counters: handlers.status.counters())
        }
        Method(Wire.Subscribe.self, for: .members) { handlers, request, parameters in
            let kinds = parameters.kinds
            if let kinds, !eventKinds.isSuperset(of: kinds) { throw ControlError.invalidParameter("kinds") }
            guard request.call.more else { throw ControlError.expectedMore }
            var subscription = ClientConnection.Subscription(kinds: kinds.map { Set($0) })
            // Whoever wants everything is not meant to be sent each batch as well.
            subscription.showsBodies =
                kinds?.contains("http") == true
                && Authority.decideSeeingRequests(for: request.caller.origin) == .granted
            // The present first, so that no change falls between a question and the subscription.
            for event in handlers.status.present(now: request.now) { subscription.add(event) }
            return .subscription(subscription)
        }
    }

    private static let eventKinds: Set<String> = [
        "location", "geofence_event", "vehicle_event", "state", "source", "sync", "auth", "http", "command",
    ]
}
