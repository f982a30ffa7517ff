internal import Base
internal import ControlProtocol
internal import Tracking

/// Geofences.
enum GeofenceMethods: MethodGroup {
    static var methods: [Method] {
        Method.command(Wire.AddGeofences.self, for: .members) { parameters in
            .addGeofences(try parameters.geofences.map { try Geofence(checking: $0) })
        }
        Method.command(Wire.RemoveGeofences.self, for: .members) { parameters in
            .removeGeofences(parameters.ids)
        } result: { completion in
            completion.count.map { .init(removed: $0) }
        }
        Method(Wire.ListGeofences.self, for: .members) { handlers, request, _ in
            if request.call.more { return .geofences(request) }
            return try handlers.geofences(after: nil, limit: Geofences.limit, request, now: request.now)
        }
    }
}
