// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One position. Optional members are absent when the receiver did not report them. id: UUIDv7, stable
    /// for this row. timestamp: the receiver's fix time. trigger, why it was admitted: interval, motion,
    /// check_in, geofence or manual. motion: moving, stationary or unknown. is_mock: the receiver reports
    /// itself as simulated. Coordinates are WGS-84; accuracy is horizontal; bearing, the direction of travel,
    /// is 0 up to but not including 360, from true north; altitude is above the ellipsoid. activity:
    /// stationary, walking, running, cycling, automotive or unknown. quality: low_accuracy or
    /// implausible_speed; absent: good. ignition: whether it was on; absent where nothing told.
    package struct Location: Codable, Sendable, Equatable {
        package var id: String
        package var sessionId: String?
        package var timestamp: String
        package var trigger: String
        package var motion: String
        package var isMock: Bool
        package var latitude: Double
        package var longitude: Double
        package var accuracy: Double?
        package var speed: Double?
        package var bearing: Double?
        package var altitude: Double?
        package var activity: String?
        package var quality: String?
        package var ignition: Bool?

        package init(
            id: String, sessionId: String? = nil, timestamp: String, trigger: String, motion: String,
            isMock: Bool, latitude: Double, longitude: Double, accuracy: Double? = nil, speed: Double? = nil,
            bearing: Double? = nil, altitude: Double? = nil, activity: String? = nil, quality: String? = nil,
            ignition: Bool? = nil
        ) {
            self.id = id
            self.sessionId = sessionId
            self.timestamp = timestamp
            self.trigger = trigger
            self.motion = motion
            self.isMock = isMock
            self.latitude = latitude
            self.longitude = longitude
            self.accuracy = accuracy
            self.speed = speed
            self.bearing = bearing
            self.altitude = altitude
            self.activity = activity
            self.quality = quality
            self.ignition = ignition
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case sessionId = "session_id"
            case timestamp
            case trigger
            case motion
            case isMock = "is_mock"
            case latitude
            case longitude
            case accuracy
            case speed
            case bearing
            case altitude
            case activity
            case quality
            case ignition
        }
    }
}
