// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Ends the session, if one is in progress. It holds until a person starts tracking again, the schedule
    /// opens or the ignition is switched on.
    package enum Stop: ControlMethod {
        package static let name = "org.beekond.Tracker.Stop"

        package struct Result: Codable, Sendable, Equatable {
            package var state: State

            package init(state: State) {
                self.state = state
            }
        }
    }
}
