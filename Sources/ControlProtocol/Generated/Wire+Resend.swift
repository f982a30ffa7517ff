// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Makes kept rows (store.keep_uploaded) from..to, both inclusive, pending again; without to, all since
    /// from. They keep their ids, go into new batches, and an attempt starts. Needs admin rights. RateLimited
    /// while another resend is in progress, or a deletion is not completed.
    package enum Resend: ControlMethod {
        package static let name = "org.beekond.Tracker.Resend"

        package struct Parameters: ControlParameters {
            package var from: String
            package var to: String?
            package var destination: String?

            package init(from: String, to: String? = nil, destination: String? = nil) {
                self.from = from
                self.to = to
                self.destination = destination
            }

            package static let names = ["from", "to", "destination"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var requeued: Int

            package init(requeued: Int) {
                self.requeued = requeued
            }
        }
    }
}
