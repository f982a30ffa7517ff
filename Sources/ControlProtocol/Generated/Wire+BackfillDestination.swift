// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Sends a destination what was stored before it was added, too: from that time on, or all of it. Rows
    /// that it has ever been sent, or that are pending for it, are left out. Returns how many rows were
    /// added. Needs admin rights. InvalidConfiguration for one that is not configured any more; so does
    /// Resend.
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
            package var added: Int

            package init(added: Int) {
                self.added = added
            }
        }
    }
}
