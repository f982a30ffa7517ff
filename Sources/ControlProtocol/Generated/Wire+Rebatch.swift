// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Dissolves the next batch if it has failed three times in a row because of its size or its time (413,
    /// 408, or a time-out after bytes were sent); otherwise RebatchRefused says why not. Its rows go into
    /// batches of the current sync.batch_size: lower that first. They may then arrive twice, under two batch
    /// ids. Needs admin rights. Sends nothing: call Sync. destination: main when absent, here and in all
    /// methods below that take one.
    package enum Rebatch: ControlMethod {
        package static let name = "org.beekond.Tracker.Rebatch"

        package struct Parameters: ControlParameters {
            package var destination: String?

            package init(destination: String? = nil) {
                self.destination = destination
            }

            package static let names = ["destination"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var batchId: String
            package var rows: Int

            package init(batchId: String, rows: Int) {
                self.batchId = batchId
                self.rows = rows
            }

            private enum CodingKeys: String, CodingKey {
                case batchId = "batch_id"
                case rows
            }
        }
    }
}
