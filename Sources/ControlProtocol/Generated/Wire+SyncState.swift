// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What the uploader is doing. disabled: no url is configured; idle: everything is acknowledged; pending:
    /// rows wait for the next attempt; deferred: they wait for a route that is not metered; uploading: a
    /// request is in progress; failed: waiting alone does not help.
    package enum SyncState: String, Codable, Sendable, Equatable, CaseIterable {
        case disabled
        case idle
        case pending
        case deferred
        case uploading
        case failed
    }
}
