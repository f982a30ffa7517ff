// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The sessions that are still known, in order of their start.
    package enum GetSessions: ControlMethod {
        package static let name = "org.beekond.Tracker.GetSessions"

        package struct Result: Codable, Sendable, Equatable {
            package var sessions: [Session]

            package init(sessions: [Session]) {
                self.sessions = sessions
            }
        }
    }
}
