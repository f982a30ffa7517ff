// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Reverts what the server has set: the values from the files apply again. All or nothing. keys: absent,
    /// all of them, those included that are not in force. An unknown key is InvalidConfiguration; one that
    /// the server has not set is left unchanged.
    package enum ResetServerConfig: ControlMethod {
        package static let name = "org.beekond.Tracker.ResetServerConfig"

        package struct Parameters: ControlParameters {
            package var keys: [String]?

            package init(keys: [String]? = nil) {
                self.keys = keys
            }

            package static let names = ["keys"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var removed: Int
            package var adopting: [String]?

            package init(removed: Int, adopting: [String]? = nil) {
                self.removed = removed
                self.adopting = adopting
            }
        }
    }
}
