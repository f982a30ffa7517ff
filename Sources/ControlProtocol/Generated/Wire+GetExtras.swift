// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The extras of every location stored from now on: those of the configuration, as modified by SetExtras.
    package enum GetExtras: ControlMethod {
        package static let name = "org.beekond.Tracker.GetExtras"

        package struct Result: Codable, Sendable, Equatable {
            package var extras: [String: String]

            package init(extras: [String: String]) {
                self.extras = extras
            }
        }
    }
}
