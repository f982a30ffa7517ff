// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// idle: never started; tracking; stopped: by the user or by the system.
    package enum State: String, Codable, Sendable, Equatable, CaseIterable {
        case idle
        case tracking
        case stopped
    }
}
