// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Unknown ids are ignored; removed counts the others.
    package enum RemoveGeofences: ControlMethod {
        package static let name = "org.beekond.Tracker.RemoveGeofences"

        package struct Parameters: ControlParameters {
            package var ids: [String]

            package init(ids: [String]) {
                self.ids = ids
            }

            package static let names = ["ids"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var removed: Int

            package init(removed: Int) {
                self.removed = removed
            }
        }
    }
}
