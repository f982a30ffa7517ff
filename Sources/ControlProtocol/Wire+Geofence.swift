extension Wire {
    /// A circle whose entries and exits are recorded.
    package struct Geofence: Codable, Sendable, Equatable {
        /// Chosen by the user.
        package var id: String
        /// Latitude of the centre in degrees, WGS-84.
        package var latitude: Double
        /// Longitude of the centre in degrees, WGS-84.
        package var longitude: Double
        /// Metres.
        package var radiusMeters: Double
        /// Absent means true.
        package var notifyOnEntry: Bool?
        /// Absent means true.
        package var notifyOnExit: Bool?
        /// Whether the vehicle is inside; only in replies, absent while undecided.
        package var inside: Bool?

        /// Optional members default to absent.
        package init(
            id: String, latitude: Double, longitude: Double, radiusMeters: Double,
            notifyOnEntry: Bool? = nil, notifyOnExit: Bool? = nil, inside: Bool? = nil
        ) {
            self.id = id
            self.latitude = latitude
            self.longitude = longitude
            self.radiusMeters = radiusMeters
            self.notifyOnEntry = notifyOnEntry
            self.notifyOnExit = notifyOnExit
            self.inside = inside
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case latitude
            case longitude
            case radiusMeters = "radius_meters"
            case notifyOnEntry = "notify_on_entry"
            case notifyOnExit = "notify_on_exit"
            case inside
        }
    }

    /// A crossing of a geofence.
    package struct GeofenceEvent: Codable, Sendable, Equatable {
        /// UUIDv7.
        package var id: String
        /// The session it belongs to.
        package var sessionId: String
        /// The fence crossed.
        package var geofenceId: String
        /// enter or exit.
        package var type: String
        /// The fix time of the crossing, UTC.
        package var timestamp: String

        /// Memberwise initialiser.
        package init(
            id: String, sessionId: String, geofenceId: String, type: String, timestamp: String
        ) {
            self.id = id
            self.sessionId = sessionId
            self.geofenceId = geofenceId
            self.type = type
            self.timestamp = timestamp
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case sessionId = "session_id"
            case geofenceId = "geofence_id"
            case type
            case timestamp
        }
    }
}
