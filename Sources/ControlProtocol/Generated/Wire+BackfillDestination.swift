// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What was stored before a destination was added is owed to it as well: from that time on, or all of it.
    /// What it has ever been owed is not owed to it again. Returns how many rows that were. Needs admin
    /// rights. InvalidConfiguration for one that is not configured any more; so does Resend.
    package enum BackfillDestination: ControlMethod {
        package static let name = "org.beekond.Tracker.BackfillDestination"

        package struct Parameters: ControlParameters {
            package var destination: String
            package var from: String?

            package init(destination: String, from: String? = nil) {
                self.destination = destination
                self.from = from
            }

            package static let names = ["destination", "from"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var owed: Int

            package init(owed: Int) {
                self.owed = owed
            }
        }
    }
}
