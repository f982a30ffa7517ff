// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A destination that is not configured any more is forgotten: what it is owed, its frozen batches, its
    /// dead letters, its tokens. Rows that nobody else is owed are deleted; removed is their number. Needs
    /// admin rights. RateLimited while its last request ends.
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
