// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What lies between two stays of at least vehicle.trip_gap_seconds. It ends when the stay began;
    /// ended_at and end are absent while it is in progress, and all is then up to the latest fix. start and
    /// end are absent where no fix told, or the position has been deleted. distance_meters is by the
    /// odometer. top_speed is absent when no speed was reported. idle_seconds: of duration_seconds, those in
    /// which it stood, with the ignition on where that is known.
    package struct Trip: Codable, Sendable, Equatable {
        package var startedAt: String
        package var endedAt: String?
        package var start: Place?
        package var end: Place?
        package var distanceMeters: Double
        package var durationSeconds: Double
        package var topSpeed: Double?
        package var idleSeconds: Double

        package init(
            startedAt: String, endedAt: String? = nil, start: Place? = nil, end: Place? = nil,
            distanceMeters: Double, durationSeconds: Double, topSpeed: Double? = nil, idleSeconds: Double
        ) {
            self.startedAt = startedAt
            self.endedAt = endedAt
            self.start = start
            self.end = end
            self.distanceMeters = distanceMeters
            self.durationSeconds = durationSeconds
            self.topSpeed = topSpeed
            self.idleSeconds = idleSeconds
        }

        private enum CodingKeys: String, CodingKey {
            case startedAt = "started_at"
            case endedAt = "ended_at"
            case start
            case end
            case distanceMeters = "distance_meters"
            case durationSeconds = "duration_seconds"
            case topSpeed = "top_speed"
            case idleSeconds = "idle_seconds"
        }
    }
}
