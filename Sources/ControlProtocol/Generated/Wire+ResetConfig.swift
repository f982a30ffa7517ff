// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Reverts what Configure has set: the values of the server, and from the files, apply again. All or
    /// nothing, with the rights of Configure. A key that was not set that way is left unchanged; an unknown
    /// one is InvalidConfiguration. An empty list reverts nothing.
    package enum ResetConfig: ControlMethod {
        package static let name = "org.beekond.Tracker.ResetConfig"

        package struct Parameters: ControlParameters {
            package var keys: [String]

            package init(keys: [String]) {
                self.keys = keys
            }

            package static let names = ["keys"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var adopting: [String]?

            package init(adopting: [String]? = nil) {
                self.adopting = adopting
            }
        }
    }
}
