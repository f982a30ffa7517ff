// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A circle or a polygon whose entries and exits are recorded. id: 1 to 100 printable characters.
    /// radius_meters: more than 0, at most 10000000. polygon: 3 to 500 corners, each [longitude, latitude] as
    /// in GeoJSON; the first may be repeated at the end. Its edges are straight in longitude and latitude,
    /// and do not meet; it lies between 85 degrees north and south, with no two corners more than 200 km
    /// apart. With polygon, the centre and radius_meters (of the circle of the same area) are only in
    /// replies, and ignored otherwise; without it they are needed. notify_* default to true. dwell_seconds: a
    /// stay of so long is recorded as well, once for each enter; more than 0, at most a year; absent: none
    /// is. inside is only in replies, and absent while undecided.
    package struct Geofence: Codable, Sendable, Equatable {
        package var id: String
        package var latitude: Double?
        package var longitude: Double?
        package var radiusMeters: Double?
        package var polygon: [[Double]]?
        package var notifyOnEntry: Bool?
        package var notifyOnExit: Bool?
        package var dwellSeconds: Double?
        package var inside: Bool?

        package init(
            id: String, latitude: Double? = nil, longitude: Double? = nil, radiusMeters: Double? = nil,
            polygon: [[Double]]? = nil, notifyOnEntry: Bool? = nil, notifyOnExit: Bool? = nil,
            dwellSeconds: Double? = nil, inside: Bool? = nil
        ) {
            self.id = id
            self.latitude = latitude
            self.longitude = longitude
            self.radiusMeters = radiusMeters
            self.polygon = polygon
            self.notifyOnEntry = notifyOnEntry
            self.notifyOnExit = notifyOnExit
            self.dwellSeconds = dwellSeconds
            self.inside = inside
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case latitude
            case longitude
            case radiusMeters = "radius_meters"
            case polygon
            case notifyOnEntry = "notify_on_entry"
            case notifyOnExit = "notify_on_exit"
            case dwellSeconds = "dwell_seconds"
            case inside
        }
    }
}
