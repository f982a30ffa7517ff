// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The configuration in effect, in ascending order of key. Secrets, and the user info and query of URLs,
    /// are "(set)".
    package enum GetConfig: ControlMethod {
        package static let name = "org.beekond.Tracker.GetConfig"

        package struct Result: Codable, Sendable, Equatable {
            package var settings: [Setting]

            package init(settings: [Setting]) {
                self.settings = settings
            }
        }
    }
}
