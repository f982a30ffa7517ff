extension Wire {
    /// One position. Optional members are absent when the receiver did not report them.
    package struct Location: Codable, Sendable, Equatable {
        /// UUIDv7, stable for this row.
        package var id: String
        /// The session it belongs to.
        package var sessionId: String?
        /// The receiver's fix time, UTC.
        package var timestamp: String
        /// Why it was admitted: interval, motion, check_in, geofence or manual.
        package var trigger: String
        /// moving, stationary or unknown.
        package var motion: String
        /// The receiver reports itself as simulated.
        package var isMock: Bool
        /// Degrees WGS-84, -90...90.
        package var latitude: Double
        /// Degrees WGS-84, -180...180.
        package var longitude: Double
        /// Metres, horizontal.
        package var accuracy: Double?
        /// Metres per second.
        package var speed: Double?
        /// Direction of travel in degrees, 0..<360, true north.
        package var bearing: Double?
        /// Metres above the WGS-84 ellipsoid.
        package var altitude: Double?
        /// stationary, walking, running, cycling, automotive or unknown.
        package var activity: String?
        /// low_accuracy or implausible_speed; absent means good.
        package var quality: String?

        /// Optional members default to absent.
        package init(
            id: String, sessionId: String? = nil, timestamp: String, trigger: String, motion: String,
            isMock: Bool, latitude: Double, longitude: Double, accuracy: Double? = nil,
            speed: Double? = nil, bearing: Double? = nil, altitude: Double? = nil, activity: String? = nil,
            quality: String? = nil
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
        }
    }

    /// One run from start to stop. Counts include rows that have been uploaded and deleted since.
    package struct Session: Codable, Sendable, Equatable {
        /// UUIDv7.
        package var id: String
        /// UTC.
        package var startedAt: String
        /// UTC; absent while the session is in progress.
        package var stoppedAt: String?
        /// Number of locations admitted.
        package var locations: Int
        /// Distance travelled in metres, from location to location.
        package var distanceMeters: Double

        /// Optional members default to absent.
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

    /// A dead letter: an item of a batch that the server answered with 400 or 422. Contains a location or a geofence
    /// event.
    package struct Rejected: Codable, Sendable, Equatable {
        /// The rejected location.
        package var location: Location?
        /// The rejected crossing.
        package var geofenceEvent: GeofenceEvent?
        /// The batch that contained it.
        package var batchId: String
        /// The HTTP status of the server's answer.
        package var httpStatus: Int
        /// UTC.
        package var rejectedAt: String

        /// Optional members default to absent.
        package init(
            location: Location? = nil, geofenceEvent: GeofenceEvent? = nil, batchId: String,
            httpStatus: Int, rejectedAt: String
        ) {
            self.location = location
            self.geofenceEvent = geofenceEvent
            self.batchId = batchId
            self.httpStatus = httpStatus
            self.rejectedAt = rejectedAt
        }

        private enum CodingKeys: String, CodingKey {
            case location
            case geofenceEvent = "geofence_event"
            case batchId = "batch_id"
            case httpStatus = "http_status"
            case rejectedAt = "rejected_at"
        }
    }
}
