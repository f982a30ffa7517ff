// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The state of the token, never the token itself. state is none, valid, expiring (a refresh is due),
    /// dead or breaker_open. reason says why it is dead: refused, no_token, rotation_interrupted, no_refresh,
    /// host_changed or key. failures counts consecutive failed refreshes.
    package struct AuthStatus: Codable, Sendable, Equatable {
        package var state: String
        package var reason: String?
        package var expiresAt: String?
        package var lastRefresh: String?
        package var failures: Int

        package init(
            state: String, reason: String? = nil, expiresAt: String? = nil, lastRefresh: String? = nil,
            failures: Int
        ) {
            self.state = state
            self.reason = reason
            self.expiresAt = expiresAt
            self.lastRefresh = lastRefresh
            self.failures = failures
        }

        private enum CodingKeys: String, CodingKey {
            case state
            case reason
            case expiresAt = "expires_at"
            case lastRefresh = "last_refresh"
            case failures
        }
    }
}
