// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// How many locations DeleteLocations would delete, and how many of them no destination has received yet.
    /// before as there. With more: counts of one part after the other, to be added, the last without
    /// continues. Without more: fails with TooMany where a single part does not hold all.
    package enum GetLocationCount: ControlMethod {
        package static let name = "org.beekond.Tracker.GetLocationCount"

        package struct Parameters: ControlParameters {
            package var before: String?

            package init(before: String? = nil) {
                self.before = before
            }

            package static let names = ["before"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var locations: Int
            package var unsent: Int

            package init(locations: Int, unsent: Int) {
                self.locations = locations
                self.unsent = unsent
            }
        }
    }
}
