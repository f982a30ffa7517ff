extension Settings {
    /// A GeoJSON batch for Overland's servers, never compressed.
    package struct Overland: DestinationFormat {
        package static let traits = FormatTraits(
            isOneRow: false, isForeign: true, namesBatch: false, needsDeviceID: false, geofenceEvents: .never,
            vehicleEvents: .never, hasOdometer: false, battery: .always, heartbeat: .none,
            takesEmptyBatch: true)

        /// Property `device_id` of each location.
        package var deviceID: String?
        /// Property `unique_id` of each location.
        package var uniqueID = UniqueID.location
        package var order = Order.oldest

        package init() {}

        package var vehicle: String? { deviceID }
        package var identity: String { " overland" + (uniqueID == .device ? " device" : "") }
    }

    /// What `unique_id` names, for Overland's servers.
    package enum UniqueID: String, Sendable, CaseIterable {
        /// The location, which `id` names as well.
        case location
        /// This installation, as the app Overland means it.
        case device
    }
}
