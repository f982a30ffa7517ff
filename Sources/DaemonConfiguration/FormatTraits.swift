/// What is true of every destination of a format, whatever is configured of it. The one place that says so: who adds a format adds a
/// row here, and a file that writes its requests and reads its answers.
package struct FormatTraits: Equatable, Sendable {
    /// Whether something has a place in the requests.
    package enum Place: Sendable {
        case always, never
        /// Where the configured shape has one.
        case shaped
    }

    /// What says that the vehicle lives, while nothing is pending.
    package enum Heartbeat: Sendable {
        /// An envelope without rows.
        case envelope
        /// The latest location once more.
        case position
        case none
    }

    /// A request always holds one row, one location or one event, and there is no batch size.
    package let isOneRow: Bool
    /// The server was made for other clients: its 4xx may be about the vehicle, a quota or the url rather than the rows.
    package let isForeign: Bool
    /// The body says which batch it is. Other requests have a header for that.
    package let namesBatch: Bool
    /// Crossings of geofences are owed to a destination of this format.
    package let geofenceEvents: Place
    /// So are events of ignition, power, trips, stays and the odometer.
    package let vehicleEvents: Place
    /// What the vehicle says of itself decides whether the odometer stands in the bytes.
    package let hasOdometer: Bool
    /// The battery has a place in what is said of a location.
    package let battery: Place
    package let heartbeat: Heartbeat
}

extension Settings.Format.Name {
    package var traits: FormatTraits {
        switch self {
        case .beekon:
            FormatTraits(
                isOneRow: false, isForeign: false, namesBatch: true, geofenceEvents: .always,
                vehicleEvents: .always,
                hasOdometer: false, battery: .never, heartbeat: .envelope)
        case .template:
            FormatTraits(
                isOneRow: false, isForeign: false, namesBatch: false, geofenceEvents: .shaped,
                vehicleEvents: .never, hasOdometer: false, battery: .shaped, heartbeat: .none)
        case .overland:
            FormatTraits(
                isOneRow: false, isForeign: true, namesBatch: false, geofenceEvents: .never,
                vehicleEvents: .never, hasOdometer: false, battery: .always, heartbeat: .none)
        case .owntracks:
            FormatTraits(
                isOneRow: true, isForeign: true, namesBatch: false, geofenceEvents: .always,
                vehicleEvents: .never,
                hasOdometer: true, battery: .always, heartbeat: .position)
        case .osmand:
            FormatTraits(
                isOneRow: true, isForeign: true, namesBatch: false, geofenceEvents: .never,
                vehicleEvents: .never,
                hasOdometer: true, battery: .always, heartbeat: .none)
        }
    }
}
