// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Permanently deletes the dead letters. Needs admin rights.
    package enum PurgeRejected: ControlMethod {
        package static let name = "org.beekond.Tracker.PurgeRejected"

        package struct Parameters: ControlParameters {
            package var destination: String?

            package init(destination: String? = nil) {
                self.destination = destination
            }

            package static let names = ["destination"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var removed: Int

            package init(removed: Int) {
                self.removed = removed
            }
        }
    }
}
