package import Base

/// What has happened to the vehicle, other than entries into geofences and exits from them, as it is stored, streamed and
/// uploaded.
package struct VehicleEvent: Equatable, Sendable {
    /// What it is about. The raw values are those of the wire format, and of the setting `vehicle.events`.
    package enum Kind: String, CaseIterable, Sendable { case ignition, power, trip, dwell, odometer }

    /// What happened.
    package enum Happening: CaseIterable, Sendable {
        /// The vehicle has stayed in a geofence for as long as the fence asks.
        case dwell
        case ignitionOn, ignitionOff
        /// External power.
        case powerLost, powerBack
        case tripStarted, tripEnded
        /// The vehicle's own odometer said otherwise.
        case odometerSet

        package var kind: Kind {
            switch self {
            case .dwell: .dwell
            case .ignitionOn, .ignitionOff: .ignition
            case .powerLost, .powerBack: .power
            case .tripStarted, .tripEnded: .trip
            case .odometerSet: .odometer
            }
        }

        /// The word of the wire format that goes with `kind`.
        package var type: String {
            switch self {
            case .dwell: "dwell"
            case .ignitionOn: "on"
            case .ignitionOff: "off"
            case .powerLost: "lost"
            case .powerBack: "back"
            case .tripStarted: "started"
            case .tripEnded: "ended"
            case .odometerSet: "set"
            }
        }
    }

    /// A position, and how accurate it is.
    package struct Place: Equatable, Sendable {
        package var coordinate: Coordinate
        /// Metres; nil when it is not known.
        package var accuracy: Double?

        package init(_ coordinate: Coordinate, accuracy: Double?) {
            self.coordinate = coordinate
            self.accuracy = accuracy
        }
    }

    /// Bytes of `data` at most.
    package static let dataLimit = 1024

    /// Minted once; its time part is the event's time, or the best guess while that was not known.
    package var id: UUIDv7
    /// The session in progress, or the one that collects the events between two sessions.
    package var session: UUIDv7
    package var happening: Happening
    /// What it happened to: the id of the geofence, the name of the supply; nil where there is but one.
    package var subject: String?
    /// What else is to be said, a JSON object of at most `dataLimit` bytes; nil: nothing.
    package var data: String?
    package var time: EventTime
    /// Where it happened; nil when that is not known.
    package var place: Place?

    /// The id is minted by the caller.
    package init(
        id: UUIDv7, session: UUIDv7, happening: Happening, subject: String? = nil, data: String? = nil,
        time: EventTime, place: Place? = nil
    ) {
        self.id = id
        self.session = session
        self.happening = happening
        self.subject = subject
        self.data = data
        self.time = time
        self.place = place
    }
}

/// An event of any kind.
package enum RecordedEvent: Equatable, Sendable {
    /// An entry into a geofence or an exit from it.
    case crossing(GeofenceEvent)
    case vehicle(VehicleEvent)

    package var id: UUIDv7 {
        switch self {
        case .crossing(let event): event.id
        case .vehicle(let event): event.id
        }
    }

    package var session: UUIDv7 {
        get {
            switch self {
            case .crossing(let event): event.session
            case .vehicle(let event): event.session
            }
        }
        set {
            switch self {
            case .crossing(var event):
                event.session = newValue
                self = .crossing(event)
            case .vehicle(var event):
                event.session = newValue
                self = .vehicle(event)
            }
        }
    }

    package var time: EventTime {
        switch self {
        case .crossing(let event): .known(event.crossing.time, isEstimated: false)
        case .vehicle(let event): event.time
        }
    }
}
