// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One run from Start to Stop. stopped_at is absent while it is in progress. locations and
    /// distance_meters count everything admitted, including what has been uploaded and deleted.
    package struct Session: Codable, Sendable, Equatable {
        package var id: String
        package var startedAt: String
        package var stoppedAt: String?
        package var locations: Int
        package var distanceMeters: Double

        package init(
            id: String, startedAt: String, stoppedAt: String? = nil, locations: Int, distanceMeters: Double
        ) {
            self.id = id
            self.startedAt = startedAt
            self.stoppedAt = stoppedAt
            self.locations = locations
            self.distanceMeters = distanceMeters
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case startedAt = "started_at"
            case stoppedAt = "stopped_at"
            case locations
            case distanceMeters = "distance_meters"
        }
    }
}
