// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Everything at or before the time, or everything, in which case no position remains. kept names what
    /// may still hold positions from before the time because nothing can be cut out of it: files that were
    /// moved aside, and the free space of a database too large to be rewritten meanwhile; absent: nothing.
    /// Needs admin rights. RateLimited while another deletion is in progress.
    package enum DeleteLocations: ControlMethod {
        package static let name = "org.beekond.Tracker.DeleteLocations"

        package struct Parameters: ControlParameters {
            package var before: String?

            package init(before: String? = nil) {
                self.before = before
            }

            package static let names = ["before"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var removed: Int
            package var kept: [String]?

            package init(removed: Int, kept: [String]? = nil) {
                self.removed = removed
                self.kept = kept
            }
        }
    }
}
