// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Reads events of all kinds, or of those that kinds names: geofence, dwell, ignition, power, trip,
    /// odometer. Those without a timestamp come last, and only if the range has no end.
    package enum GetEvents: ControlMethod {
        package static let name = "org.beekond.Tracker.GetEvents"

        package struct Parameters: ControlParameters {
            package var from: String?
            package var to: String?
            package var kinds: [String]?

            package init(from: String? = nil, to: String? = nil, kinds: [String]? = nil) {
                self.from = from
                self.to = to
                self.kinds = kinds
            }

            package static let names = ["from", "to", "kinds"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var events: [VehicleEvent]

            package init(events: [VehicleEvent]) {
                self.events = events
            }
        }
    }
}
