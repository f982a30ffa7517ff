// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Returns the dead letters to the queue, with their ids unchanged, and starts an attempt. Those for
    /// which the row cap leaves no room stay. RateLimited while they are being moved already, or a deletion
    /// is not completed.
    package enum RetryRejected: ControlMethod {
        package static let name = "org.beekond.Tracker.RetryRejected"

        package struct Parameters: ControlParameters {
            package var destination: String?

            package init(destination: String? = nil) {
                self.destination = destination
            }

            package static let names = ["destination"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var requeued: Int

            package init(requeued: Int) {
                self.requeued = requeued
            }
        }
    }
}
