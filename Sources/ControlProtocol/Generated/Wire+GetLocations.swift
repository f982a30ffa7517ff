// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Stored locations from..to, both inclusive, in chronological order; an absent end is open. With more:
    /// pages of up to 1000, the last without continues. Without more: fails with TooMany above 1000 rows.
    package enum GetLocations: ControlMethod {
        package static let name = "org.beekond.Tracker.GetLocations"

        package struct Parameters: ControlParameters {
            package var from: String?
            package var to: String?
            package var sessionId: String?

            package init(from: String? = nil, to: String? = nil, sessionId: String? = nil) {
                self.from = from
                self.to = to
                self.sessionId = sessionId
            }

            private enum CodingKeys: String, CodingKey {
                case from
                case to
                case sessionId = "session_id"
            }

            package static let names = ["from", "to", "session_id"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var locations: [Location]

            package init(locations: [Location]) {
                self.locations = locations
            }
        }
    }
}
