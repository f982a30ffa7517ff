// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Stored events from..to, both inclusive, in chronological order. Like GetLocations, with more in pages,
    /// and TooMany without.
    package enum GetGeofenceEvents: ControlMethod {
        package static let name = "org.beekond.Tracker.GetGeofenceEvents"

        package struct Parameters: ControlParameters {
            package var from: String?
            package var to: String?

            package init(from: String? = nil, to: String? = nil) {
                self.from = from
                self.to = to
            }

            package static let names = ["from", "to"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var events: [GeofenceEvent]

            package init(events: [GeofenceEvent]) {
                self.events = events
            }
        }
    }
}
