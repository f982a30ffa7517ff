internal import Base
internal import Tracking

extension Authenticator {
    /// An exchange begins. The record must be on the disk before the first byte is sent.
    ///
    /// - Returns: nil when there is nothing to ask with.
    package mutating func begin(_ instant: Instant) -> TokenRequest? {
        guard !isLocked, let rules = plan?.refresh, let request = TokenRequest(rules, record.tokens) else {
            return nil
        }
        // The previous pair is kept until this one has worked.
        if hasWorked { record.previous = nil }
        record.isExchanging = true
        beganAt = instant.now
        record.lastAttempt = moment(instant)
        isSaved = false
        return request
    }

    /// The beginning of the exchange could not be recorded, so the exchange did not take place. While nothing is to be sent the
    /// disk is not asked again without a pause.
    package mutating func callOff() {
        record.isExchanging = wasCut
        diskRetryAt = beganAt?.advanced(bySeconds: Self.diskPause)
    }

    /// The exchange was broken off: nobody knows what has become of it, unless its tokens have been replaced.
    package mutating func brokenOff() {
        wasCut = record.isExchanging
    }

    /// The exchange has ended.
    ///
    /// - Parameter mapping: that of the request.
    package mutating func end(
        _ answer: Answer, _ mapping: TokenMapping, _ instant: Instant,
        using random: inout some RandomNumberGenerator
    ) -> Result {
        idleNotBefore = instant.now.advanced(bySeconds: Self.idleInterval)
        isDemanded = false
        switch answer {
        case .lost(let wasSent):
            // A connection that was never made has carried no token; otherwise the lost answer may have been a new pair.
            let result = postpone(isCut: wasSent, nil, instant, using: &random)
            waitsForNetwork = true
            return result
        case .response(let status, let body, let retryAfter):
            switch Verdict(status: status, retryAfter: retryAfter) {
            case .accepted:
                guard let answer = TokenAnswer(body, mapping: mapping) else {
                    return markDead(.noToken, status: status)
                }
                replaceTokens(with: answer, instant)
                return .renewed
            case .transient:
                // A gateway that stopped waiting does not know what became of the request.
                return postpone(isCut: status == 502 || status == 504, retryAfter, instant, using: &random)
            case .rejected, .unauthorised, .permanent:
                return markDead(wasCut ? .rotationInterrupted : .refused, status: status)
            }
        }
    }

    private mutating func replaceTokens(with answer: TokenAnswer, _ instant: Instant) {
        var tokens = Tokens(access: answer.access, refresh: answer.refresh ?? record.tokens.refresh)
        switch answer.expiry {
        case .within(let seconds): tokens.lifetime = seconds
        case .at(let moment):
            tokens.expiresAt = moment
            tokens.lifetime = instant.time.map { Double(moment) - Double($0.milliseconds) / 1000 }
        case nil: break
        }
        if let lifetime = tokens.lifetime {
            deadline = instant.now.advanced(bySeconds: lifetime)
            tokens.expiresAt =
                tokens.expiresAt ?? instant.time.map { $0.milliseconds / 1000 + Int64(lifetime) }
        }
        // Expired on arrival: one of the two clocks is wrong, so the expiry means nothing.
        if let lifetime = tokens.lifetime, lifetime <= 0 {
            (tokens.expiresAt, tokens.lifetime) = (nil, nil)
        }
        if tokens.lifetime == nil { deadline = nil }
        record.previous = record.tokens
        record.tokens = tokens
        record.isExchanging = false
        wasCut = false
        hasWorked = false
        awaitsDisk = true
        record.lastRefresh = instant.time?.milliseconds
        revive()
    }

    /// The network is back: what failed for want of it need not wait any longer.
    package mutating func networkReturned() {
        if waitsForNetwork { retryAt = nil }
    }

    private mutating func postpone(
        isCut: Bool, _ retryAfter: Double?, _ instant: Instant,
        using random: inout some RandomNumberGenerator
    ) -> Result {
        wasCut = wasCut || isCut
        record.isExchanging = wasCut
        isSaved = false
        waitsForNetwork = false
        failures += 1
        isBreakerOpen = failures >= Self.breakerLimit
        let delay = isBreakerOpen ? breaker.next(using: &random) : backOff.next(using: &random)
        let seconds = max(delay, retryAfter ?? 0)
        retryAt = instant.now.advanced(bySeconds: seconds)
        return .later(seconds)
    }

    @discardableResult
    mutating func markDead(_ death: AuthRecord.Death, status: Int?) -> Result {
        forgetFailures()
        record.death = death
        record.deathStatus = status
        record.isExchanging = false
        wasCut = false
        hasTriedDead = true
        isSaved = false
        return .dead(death)
    }
}
