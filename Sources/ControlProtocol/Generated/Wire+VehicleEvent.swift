// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What has happened to the vehicle. id: UUIDv7. kind and type: geofence (enter, exit), dwell (dwell),
    /// ignition (on, off), power (lost, back), trip (started, ended), odometer (set). subject is what it
    /// happened to, such as the id of a geofence; absent where there is but one. timestamp is absent while no
    /// clock could be trusted yet. time_estimated true: the machine went off before that; the event was not
    /// earlier. The position is that of the fix that tells, if any. data is what else is to be said.
    package struct VehicleEvent: Codable, Sendable, Equatable {
        package var id: String
        package var sessionId: String
        package var kind: String
        package var type: String
        package var subject: String?
        package var timestamp: String?
        package var timeEstimated: Bool?
        package var latitude: Double?
        package var longitude: Double?
        package var accuracy: Double?
        package var data: JSONValue?

        package init(
            id: String, sessionId: String, kind: String, type: String, subject: String? = nil,
            timestamp: String? = nil, timeEstimated: Bool? = nil, latitude: Double? = nil,
            longitude: Double? = nil, accuracy: Double? = nil, data: JSONValue? = nil
        ) {
            self.id = id
            self.sessionId = sessionId
            self.kind = kind
            self.type = type
            self.subject = subject
            self.timestamp = timestamp
            self.timeEstimated = timeEstimated
            self.latitude = latitude
            self.longitude = longitude
            self.accuracy = accuracy
            self.data = data
        }

        private enum CodingKeys: String, CodingKey {
            case id
            case sessionId = "session_id"
            case kind
            case type
            case subject
            case timestamp
            case timeEstimated = "time_estimated"
            case latitude
            case longitude
            case accuracy
            case data
        }
    }
}
