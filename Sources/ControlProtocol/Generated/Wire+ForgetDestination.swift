// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Forgets a destination that is not configured any more: what is pending for it, its frozen batches, its
    /// dead letters, its tokens. Rows that are pending for no other are deleted; removed is their number.
    /// Needs admin rights. RateLimited while its last request ends.
    package enum ForgetDestination: ControlMethod {
        package static let name = "org.beekond.Tracker.ForgetDestination"

        package struct Parameters: ControlParameters {
            package var destination: String

            package init(destination: String) {
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
