package import Base
internal import Tracking

/// Decides which token an upload carries, and when it is refreshed. Pure: clocks and randomness are arguments, and the
/// owner makes the requests and writes the record.
///
/// A refresh is an exchange: `begin`, write the record, send, `end`, write the record. While `awaitsDisk` nothing may be
/// sent: a new pair must be durable before its first use, because the endpoint has retired the old one.
package struct Authenticator: Sendable {
    /// What has to happen before a request.
    package enum Need: Equatable, Sendable {
        /// Nothing: send with the present `authorization`.
        case nothing
        /// An exchange.
        case refresh
        /// The last exchange failed, and the next one has to wait for this many seconds.
        case wait(Double)
        /// There is no token, and no way to get one.
        case dead
    }

    /// What became of an exchange.
    package enum Answer: Equatable, Sendable {
        /// A complete answer. `retryAfter` in seconds, when the endpoint asked for it.
        case response(status: Int, body: [UInt8], retryAfter: Double?)
        /// No answer. `wasSent`: the endpoint may have received the request.
        case lost(wasSent: Bool)
    }

    /// What follows from the answer.
    package enum Result: Equatable, Sendable {
        case renewed
        /// Seconds until the next attempt.
        case later(Double)
        case dead(AuthRecord.Death)
    }

    /// What the clocks say: read once per step, in the loop.
    package struct Instant: Equatable, Sendable {
        /// Boot time.
        package var now: BootInstant
        /// The time; nil while no clock can be trusted: age is never judged by one that cannot.
        package var time: Timestamp?

        package init(now: BootInstant, time: Timestamp?) {
            self.now = now
            self.time = time
        }
    }

    /// Failures in a row that open the breaker.
    static let breakerLimit = 3
    /// Seconds between attempts with dead credentials.
    static let revivalInterval = 3600.0
    /// Seconds after an exchange in which the clock alone does not begin another: a token that lives for seconds must
    /// not keep an idle daemon busy.
    static let idleInterval = 60.0
    /// Seconds until the clock alone tries again what the disk has not taken.
    static let diskPause = 10.0
    /// Seconds: the longest wait after a start before the clock alone may begin an exchange.
    static let startDelay = 10.0

    /// What the disk should hold; see `isSaved`.
    package internal(set) var record: AuthRecord
    /// The disk holds `record`.
    package internal(set) var isSaved = true
    /// Whether there is a new pair that is not on the disk yet.
    package internal(set) var awaitsDisk = false
    /// Failed exchanges in a row.
    package internal(set) var failures = 0
    var plan: AuthPlan?
    /// The record on disk cannot be read; nothing may be written over it.
    var isLocked = false
    var isBreakerOpen = false
    /// No exchange is made before.
    package internal(set) var retryAt: BootInstant?
    /// When the latest exchange began.
    var beganAt: BootInstant?
    /// The clock alone begins no exchange before: the disk did not take the latest.
    var diskRetryAt: BootInstant?
    /// The last exchange failed because of the network.
    package internal(set) var waitsForNetwork = false
    /// When the present token expires, in boot time, which no step of the clock can move.
    var deadline: BootInstant?
    var hasTriedDead = false
    var idleNotBefore: BootInstant
    /// An exchange with this pair was cut off, by this process or an earlier one, and none has been answered since.
    var wasCut: Bool
    var hasWorked = false
    /// Somebody who shares the tokens needs others.
    var isDemanded = false
    var backOff = BackOff(first: 2, ceiling: 300)
    var breaker = BackOff(first: 60, ceiling: 3600)

    /// - Parameter record: what the disk holds; nil when nothing is stored.
    package init(record: AuthRecord?, now: BootInstant, using random: inout some RandomNumberGenerator) {
        self.record = record ?? AuthRecord()
        wasCut = self.record.isExchanging
        idleNotBefore = now.advanced(bySeconds: Double.random(in: 0...Self.startDelay, using: &random))
    }

    // MARK: Seeds

    /// Takes note of a record that cannot be read: its key is missing, or a later version wrote it.
    package mutating func lock() {
        isLocked = true
        record = AuthRecord()
        record.death = .key
    }

    /// Another configuration: a new seed replaces the tokens, and tokens for another origin are dropped.
    package mutating func configure(_ new: AuthPlan?) {
        plan = new
        guard let new, !isLocked else { return }
        bindHosts(new)
        let isNewSeed = new.seed.digest != record.seedDigest
        let hasGrown = new.seedEpoch > record.seedEpoch
        if !new.seed.isEmpty, record.isBlank || isNewSeed || hasGrown {
            replaceTokens(with: new.seed, new)
        } else if record.isBlank {
            replaceTokens(with: Tokens(), new)
        } else if isForAnotherOrigin(new) {
            replaceTokens(with: Tokens(), new)
            if !canRefresh { record.death = .hostChanged }
        } else if hasGrown {
            record.seedEpoch = new.seedEpoch
            revive()
        }
    }

    /// From now on uses the tokens that an administrator has given.
    ///
    /// - Returns: false when the configuration has no use for tokens.
    package mutating func seed(_ tokens: Tokens) -> Bool {
        guard let plan else { return false }
        isLocked = false
        replaceTokens(with: tokens, plan)
        return true
    }

    private func isForAnotherOrigin(_ new: AuthPlan) -> Bool {
        guard record.uploadOrigin?.covers(new.uploadOrigin) == true else { return true }
        guard let refresh = new.refreshOrigin else { return false }
        return record.refreshOrigin?.covers(refresh) != true
    }

    /// Takes up a record of an earlier version, which knew only hosts.
    private mutating func bindHosts(_ new: AuthPlan) {
        if let host = record.uploadHost, new.uploadOrigin.isSafe(forHost: host) {
            record.uploadOrigin = new.uploadOrigin
            record.uploadHost = nil
            isSaved = false
        }
        if let host = record.refreshHost, let refresh = new.refreshOrigin, refresh.isSafe(forHost: host) {
            record.refreshOrigin = refresh
            record.refreshHost = nil
            isSaved = false
        }
    }

    /// Replaces the tokens. The seed of the configuration counts as used, whether or not these are it: the next start would
    /// bring it back otherwise.
    private mutating func replaceTokens(with tokens: Tokens, _ plan: AuthPlan) {
        record.tokens = tokens
        record.previous = nil
        record.isExchanging = false
        if !plan.seed.isEmpty { record.seedDigest = plan.seed.digest }
        record.seedEpoch = max(record.seedEpoch, plan.seedEpoch)
        record.uploadOrigin = plan.uploadOrigin
        record.uploadHost = nil
        if let refresh = plan.refreshOrigin {
            record.refreshOrigin = refresh
            record.refreshHost = nil
        }
        deadline = nil
        wasCut = false
        hasWorked = false
        isDemanded = false
        revive()
    }

    mutating func revive() {
        record.death = nil
        record.deathStatus = nil
        hasTriedDead = false
        forgetFailures()
        isSaved = false
    }

    /// Forgets failures, so that nothing has to wait for a back-off.
    mutating func forgetFailures() {
        failures = 0
        retryAt = nil
        waitsForNetwork = false
        isBreakerOpen = false
        backOff.reset()
        breaker.reset()
    }

    /// The record has been written, durably.
    package mutating func saved() {
        isSaved = true
        awaitsDisk = false
    }

    // MARK: Before and after an upload

    /// The value of `Authorization`; nil when there is no token.
    package var authorization: String? {
        guard let plan, let token = record.tokens.access else { return nil }
        return plan.isRaw ? token : "Bearer " + token
    }

    /// Whether there are credentials, or should be.
    package var isActive: Bool {
        plan.map { isLocked || !record.tokens.isEmpty || record.death != nil || $0.refresh != nil } ?? false
    }

    /// What has to happen before an upload.
    ///
    /// - Parameter isForced: the user asks, so that no back-off counts. Dead credentials stay dead.
    package mutating func need(_ instant: Instant, isForced: Bool) -> Need {
        guard isActive else { return .nothing }
        let left = secondsLeft(instant)
        let hasToken = record.tokens.access != nil
        guard !hasToken || isDemanded || (left ?? .infinity) <= margin else { return .nothing }
        switch exchangeNeed(instant, isForced: isForced) {
        case .dead:
            if !hasToken, record.death == nil { markDead(.noRefresh, status: nil) }
            // The backend may still accept an old token.
            return hasToken ? .nothing : .dead
        // The present token is used as long as it lasts.
        case .wait(let seconds): return hasToken && (left ?? .infinity) > 0 ? .nothing : .wait(seconds)
        case .nothing, .refresh: return .refresh
        }
    }

    /// What has to happen after the backend has refused a request (401, 403), before it is repeated.
    ///
    /// - Parameter sent: the `Authorization` that it refused.
    package mutating func need(afterRefusalOf sent: String?, _ instant: Instant, isForced: Bool) -> Need {
        // An administrator has seeded new tokens meanwhile.
        if let authorization, authorization != sent { return .nothing }
        let need = exchangeNeed(instant, isForced: isForced)
        if need == .dead, record.death == nil { markDead(.noRefresh, status: nil) }
        return need
    }

    /// Somebody who shares the tokens was refused with this `Authorization`; nil: there was none to send. With the next
    /// exchange that is over, whatever comes of it.
    package mutating func demand(afterRefusalOf sent: String?) {
        if canServe, sent == authorization { isDemanded = true }
    }

    /// An exchange may bring what somebody who shares the tokens needs.
    package var canServe: Bool { isActive && !isLocked && record.death == nil && canRefresh }

    private func exchangeNeed(_ instant: Instant, isForced: Bool) -> Need {
        guard !isLocked, canRefresh else { return .dead }
        if let death = record.death {
            guard death.mayPass, !hasTriedDead, revivalWait(instant) <= 0 else { return .dead }
        }
        if let retryAt, !isForced, instant.now < retryAt {
            return .wait(retryAt.seconds(since: instant.now))
        }
        return .refresh
    }

    var canRefresh: Bool {
        plan?.refresh.map { TokenRequest($0, record.tokens) != nil } ?? false
    }

    /// Seconds until dead credentials may be tried again.
    func revivalWait(_ instant: Instant) -> Double {
        guard let last = record.lastAttempt, let since = moment(instant).seconds(since: last) else {
            return 0
        }
        return Self.revivalInterval - since
    }

    func moment(_ instant: Instant) -> AuthRecord.Moment {
        AuthRecord.Moment(
            seconds: Double(instant.now.nanoseconds) / 1e9, time: instant.time.map { $0.milliseconds / 1000 })
    }

    /// The backend has accepted a request with this `Authorization`.
    package mutating func worked(_ sent: String?) {
        guard let authorization, authorization == sent else { return }
        hasWorked = true
        if record.death == .noRefresh { revive() }
    }
}
