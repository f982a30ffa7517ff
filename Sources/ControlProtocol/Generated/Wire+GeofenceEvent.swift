// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A crossing. id: UUIDv7. type is enter or exit. timestamp: the fix time of the crossing. reason: why an
    /// exit is told that no fix has shown: removed, when the geofence was removed or replaced while the
    /// vehicle was inside, or reports no exits; stopped, when a person has stopped tracking and the geofence
    /// is a server's, which then does not count.
    package struct GeofenceEvent: Codable, Sendable, Equatable {
        package var id: String
        package var sessionId: String
        package var geofenceId: String
        package var type: String
        package var timestamp: String
        package var reason: String?

        package init(
            id: String, sessionId: String, geofenceId: String, type: String, timestamp: String,
            reason: String? = nil
        ) {
            self.id = id
            self.sessionId = sessionId
            self.geofenceId = geofenceId
            self.type = type
            self.timestamp = timestamp
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case sessionId = "session_id"
            case geofenceId = "geofence_id"
            case type
            case timestamp
            case reason
        }
    }
}
