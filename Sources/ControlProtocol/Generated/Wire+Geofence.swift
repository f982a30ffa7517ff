// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A circle whose entries and exits are recorded. id: 1 to 100 printable characters. radius_meters: more
    /// than 0, at most 10000000. notify_* default to true. inside is only in replies, and absent while
    /// undecided.
    package struct Geofence: Codable, Sendable, Equatable {
        package var id: String
        package var latitude: Double
        package var longitude: Double
        package var radiusMeters: Double
        package var notifyOnEntry: Bool?
        package var notifyOnExit: Bool?
        package var inside: Bool?

        package init(
            id: String, latitude: Double, longitude: Double, radiusMeters: Double, notifyOnEntry: Bool? = nil,
            notifyOnExit: Bool? = nil, inside: Bool? = nil
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
}
