internal import Base
internal import ControlProtocol
internal import Storage
internal import Tracking

/// Tracking, and what somebody says of the vehicle.
enum TrackingMethods: MethodGroup {
    static var methods: [Method] {
        Method.command(Wire.Start.self, for: .members) { _ in
            .start
        } result: { completion in
            guard case .session(let id) = completion else { return nil }
            return .init(state: .tracking, sessionId: id.description)
        }
        Method(Wire.Stop.self, for: .members) { handlers, request, _ in
            let board = handlers.hub.board
            return try handlers.give(.stop, request, as: Wire.Stop.self) { _ in
                .init(state: Wire.State(board.readerSnapshot.state))
            }
        }
        Method(Wire.GetCurrentLocation.self, for: .members) { handlers, request, parameters in
            let wanted = try Command.FixRequest(
                timeout: parameters.timeoutSeconds, maxAge: parameters.maxAgeSeconds,
                accuracy: parameters.accuracyMeters)
            // Nobody would receive the result.
            if request.call.oneway { return .reply([]) }
            return try handlers.give(.locate(wanted), request, as: Wire.GetCurrentLocation.self) {
                completion in
                guard case .location(let location) = completion else { return nil }
                return .init(location: location.map { Wire.Location($0) })
            }
        }
        Method.command(Wire.SetMotion.self, for: .members) { parameters in
            .setMotion(try Command.SetMotion(checking: parameters.motion))
        }
        Method.command(Wire.SetIgnition.self, for: .members) { parameters in
            .setIgnition(parameters.on)
        }
        Method.command(Wire.SetOdometer.self, for: .admins) { parameters in
            .setOdometer(try Command.Mileage(parameters.odometerMeters))
        }
    }
}
