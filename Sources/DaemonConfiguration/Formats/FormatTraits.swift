/// What is true of every destination of a format, whatever is configured of it.
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
    /// A `device_id` must be configured.
    package let needsDeviceID: Bool
    /// Crossings of geofences are sent to a destination of this format.
    package let geofenceEvents: Place
    /// Events of ignition, power, trips, stays and the odometer are sent to a destination of this format.
    package let vehicleEvents: Place
    /// What the vehicle says of itself decides whether the odometer stands in the bytes.
    package let hasOdometer: Bool
    /// The battery has a place in what is said of a location.
    package let battery: Place
    package let heartbeat: Heartbeat
    /// A batch without rows is answered like any other, and changes nothing there: so it shows whether the destination works.
    package let takesEmptyBatch: Bool
}
