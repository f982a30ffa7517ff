/// What happens to a fleet.
package enum Scenario: String, CaseIterable, Sendable {
    /// Nothing.
    case day
    /// The server is down for an hour.
    case outage
    /// A tenth of the fleet has no power for half an hour, and boots at the same moment.
    case power
    /// A tenth of the fleet has no network for half an hour, and gets it back at the same moment.
    case network
    /// The server can do half of what the busiest hour of the day needs.
    case slowServer = "slow-server"

    /// Hours since midnight at which the simulation begins, unless somebody says otherwise.
    package var start: Double {
        switch self {
        case .day, .slowServer: 0
        case .outage, .power, .network: 8
        }
    }

    /// Hours that it takes, unless somebody says otherwise.
    package var hours: Double {
        switch self {
        case .day: 24
        case .slowServer: 30
        case .outage: 5
        case .power, .network: 4
        }
    }

    /// Seconds that it lasts; nil: nothing happens, or it never ends.
    package var duration: Double? {
        switch self {
        case .day, .slowServer: nil
        case .outage: 3600
        case .power, .network: 1800
        }
    }

    /// How often as many requests may come in the busiest 10 s as on average: in the hour around it where nothing happens,
    /// and before the event where something does. nil: what counts is who is served.
    package var bound: Double? {
        switch self {
        case .day: 1.3
        case .outage, .power, .network: 2
        case .slowServer: nil
        }
    }

    /// In the region where it happens.
    package static func isInRegion(_ vehicle: Int) -> Bool { vehicle % 10 == 3 }
}
