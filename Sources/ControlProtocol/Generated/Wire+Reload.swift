// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Rereads the files, like SIGHUP. If one is invalid, nothing changes, and InvalidConfiguration says
    /// where and why.
    package enum Reload: ControlMethod {
        package static let name = "org.beekond.Tracker.Reload"

        package struct Result: Codable, Sendable, Equatable {
            package var adopting: [String]?

            package init(adopting: [String]? = nil) {
                self.adopting = adopting
            }
        }
    }
}
