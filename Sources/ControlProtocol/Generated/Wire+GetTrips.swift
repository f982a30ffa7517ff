// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Trips that touch from..to, in order of their start: the newest 1000 are kept, and the one in progress
    /// is the last.
    package enum GetTrips: ControlMethod {
        package static let name = "org.beekond.Tracker.GetTrips"

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
            package var trips: [Trip]

            package init(trips: [Trip]) {
                self.trips = trips
            }
        }
    }
}
