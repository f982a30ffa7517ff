extension Settings {
    /// A query for Traccar's port 5055 and what imitates it, one row a request.
    package struct OsmAnd: DestinationFormat {
        package static let traits = FormatTraits(
            isOneRow: true, isForeign: true, namesBatch: false, needsDeviceID: true, geofenceEvents: .never,
            vehicleEvents: .never, hasOdometer: true, battery: .always, heartbeat: .none,
            takesEmptyBatch: false)

        /// `id` of the query.
        package var deviceID: String
        package var speedUnit = SpeedUnit.knots

        package init(deviceID: String, speedUnit: SpeedUnit = .knots) {
            self.deviceID = deviceID
            self.speedUnit = speedUnit
        }

        package var vehicle: String? { deviceID }
        package var identity: String { " osmand \(speedUnit.rawValue)" }
    }

    /// Unit of `speed` in a query: nothing in the request says so.
    package enum SpeedUnit: String, Sendable, CaseIterable {
        /// Knots, which Traccar reads, and PhoneTrack at `/log/traccar`.
        case knots
        /// Metres per second, as PhoneTrack reads it at `/log/gpslogger`.
        case mps
    }
}
