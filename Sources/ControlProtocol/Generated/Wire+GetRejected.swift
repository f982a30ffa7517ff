// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// In order of rejection. With more: pages of up to 1000, the last without continues. Without more: fails
    /// with TooMany above 1000 rows.
    package enum GetRejected: ControlMethod {
        package static let name = "org.beekond.Tracker.GetRejected"

        package struct Parameters: ControlParameters {
            package var destination: String?

            package init(destination: String? = nil) {
                self.destination = destination
            }

            package static let names = ["destination"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var rejected: [Rejected]

            package init(rejected: [Rejected]) {
                self.rejected = rejected
            }
        }
    }
}
