// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Starts a session, or returns the one in progress. The newest wish decides: of persons, the server,
    /// tracking.schedule and the ignition. But what a person has stopped the server cannot start, and
    /// meanwhile it is not told where the vehicle is.
    package enum Start: ControlMethod {
        package static let name = "org.beekond.Tracker.Start"

        package struct Result: Codable, Sendable, Equatable {
            package var state: State
            package var sessionId: String

            package init(state: State, sessionId: String) {
                self.state = state
                self.sessionId = sessionId
            }

            private enum CodingKeys: String, CodingKey {
                case state
                case sessionId = "session_id"
            }
        }
    }
}
