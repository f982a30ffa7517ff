internal import ControlProtocol
internal import Tracking

extension Geofence {
    /// A polygon is taken before a circle: a list can be sent back as it came, and has both.
    init(checking wanted: Wire.Geofence) throws(CommandFailure) {
        let circle = (wanted.latitude, wanted.longitude, wanted.radiusMeters)
        let reason: String
        switch (wanted.polygon, circle) {
        case (let ring?, _):
            do {
                try self.init(
                    id: wanted.id, ring: ring, notifiesOnEntry: wanted.notifyOnEntry ?? true,
                    notifiesOnExit: wanted.notifyOnExit ?? true, dwell: wanted.dwellSeconds)
                return
            } catch { reason = error.reason }
        case (nil, (let latitude?, let longitude?, let radius?)):
            do {
                try self.init(
                    id: wanted.id, latitude: latitude, longitude: longitude, radius: radius,
                    notifiesOnEntry: wanted.notifyOnEntry ?? true,
                    notifiesOnExit: wanted.notifyOnExit ?? true, dwell: wanted.dwellSeconds)
                return
            } catch { reason = error.reason }
        case (nil, _): reason = "give latitude, longitude and radius_meters, or a polygon"
        }
        // An id may be as long as the request; its beginning will do to find it.
        throw CommandFailure(kind: .geofence(id: String(wanted.id.prefix(Self.idLimit))), reason: reason)
    }
}
