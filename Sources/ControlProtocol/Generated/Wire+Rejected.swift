// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A rejected row (dead letter): the server answered its batch with 400 or 422, or refused it for good
    /// time and again while it took the next one. http_status 0: it closed the connection without an answer.
    /// reason: what it said, as last_reason of SyncStatus.
    package struct Rejected: Codable, Sendable, Equatable {
        package var location: Location?
        package var geofenceEvent: GeofenceEvent?
        package var vehicleEvent: VehicleEvent?
        package var batchId: String
        package var httpStatus: Int
        package var rejectedAt: String
        package var reason: String?

        package init(
            location: Location? = nil, geofenceEvent: GeofenceEvent? = nil, vehicleEvent: VehicleEvent? = nil,
            batchId: String, httpStatus: Int, rejectedAt: String, reason: String? = nil
        ) {
            self.location = location
            self.geofenceEvent = geofenceEvent
            self.vehicleEvent = vehicleEvent
            self.batchId = batchId
            self.httpStatus = httpStatus
            self.rejectedAt = rejectedAt
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case location
            case geofenceEvent = "geofence_event"
            case vehicleEvent = "vehicle_event"
            case batchId = "batch_id"
            case httpStatus = "http_status"
            case rejectedAt = "rejected_at"
            case reason
        }
    }
}
