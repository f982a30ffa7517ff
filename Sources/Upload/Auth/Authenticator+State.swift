package import Base

/// The state of the credentials, for people: never a token.
package struct AuthState: Equatable, Sendable {
    /// In a word; the names are the control interface's.
    package enum Word: String, Sendable {
        /// No credentials, and no way to get any.
        case none
        case valid
        /// A refresh is due.
        case expiring
        case dead
        /// Refreshing has failed several times in a row, and is suspended for a while.
        case breakerOpen = "breaker_open"
    }

    /// The state in a word.
    package var word = Word.none
    /// Why the credentials are dead.
    package var death: AuthRecord.Death?
    /// The answer of the endpoint that they died of.
    package var deathStatus: Int?
    /// When the access token expires; nil when that is not known.
    package var expiresAt: Timestamp?
    /// The last successful refresh.
    package var lastRefresh: Timestamp?
    /// Failed refreshes in a row.
    package var failures = 0

    /// No credentials.
    package init() {}
}

extension Authenticator {
    /// The state of the credentials.
    package func state(_ instant: Instant) -> AuthState {
        var state = AuthState()
        guard isActive else { return state }
        let isDue = record.tokens.access == nil || (secondsLeft(instant) ?? .infinity) <= margin
        state.word =
            if record.death != nil { .dead } else if isBreakerOpen { .breakerOpen } else {
                isDue ? .expiring : .valid
            }
        state.death = record.death
        state.deathStatus = record.deathStatus
        state.expiresAt = record.tokens.expiresAt.map { Timestamp(milliseconds: $0 &* 1000) }
        state.lastRefresh = record.lastRefresh.map { Timestamp(milliseconds: $0) }
        state.failures = failures
        return state
    }

    /// When to begin an exchange though nothing is to be uploaded; nil for never.
    ///
    /// A parked vehicle with nothing to send would otherwise outlive its refresh token.
    package func idleDue(_ instant: Instant) -> BootInstant? {
        guard isActive, !isLocked, canRefresh else { return nil }
        let earliest = max(retryAt ?? instant.now, diskRetryAt ?? instant.now)
        if isDemanded, record.death == nil { return max(instant.now, earliest) }
        var wait = 0.0
        if let death = record.death {
            guard death.mayPass, !hasTriedDead else { return nil }
            wait = revivalWait(instant)
        } else if record.tokens.access != nil {
            guard let left = secondsLeft(instant) else { return nil }
            wait = left - margin
        }
        let due = instant.now.advanced(bySeconds: max(wait, 0))
        return max(due, idleNotBefore, earliest)
    }

    /// Seconds until the access token expires; nil when that is not known.
    func secondsLeft(_ instant: Instant) -> Double? {
        if let deadline { return deadline.seconds(since: instant.now) }
        guard let expiresAt = record.tokens.expiresAt, let time = instant.time else { return nil }
        return Double(expiresAt) - Double(time.milliseconds) / 1000
    }

    /// Seconds before its expiry at which a token is refreshed: at most half its lifetime, or a token that lives no longer
    /// than the configured margin would be refreshed before every request.
    var margin: Double {
        let skew = plan?.skew ?? 0
        return record.tokens.lifetime.map { min(skew, $0 / 2) } ?? skew
    }
}
