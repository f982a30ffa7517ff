import Base
import Support

@testable import Upload

/// An authenticator with its clocks: seconds since the boot, and the Unix time at second 0, if there is one to trust.
final class AuthRig {
    static let epoch: Int64 = 1_800_000_000

    var random = SeededGenerator(seed: 1)
    var auth: Authenticator
    var now = 1000.0
    var hasTime = true
    /// Seconds by which the clock has been set since.
    var step: Int64 = 0

    init(_ plan: AuthPlan? = nil, record: AuthRecord? = nil, now: Double = 1000, hasTime: Bool = true) {
        self.now = now
        self.hasTime = hasTime
        auth = Authenticator(record: record, now: Rig.instant(now), using: &random)
        if let plan { auth.configure(plan) }
        if !auth.isSaved { auth.saved() }
    }

    /// Unix seconds now.
    var time: Int64 { Self.epoch + Int64(now) + step }

    var instant: Authenticator.Instant {
        Authenticator.Instant(
            now: Rig.instant(now), time: hasTime ? Timestamp(milliseconds: time * 1000) : nil)
    }

    var state: AuthState { auth.state(instant) }

    func need(isForced: Bool = false) -> Authenticator.Need {
        auth.need(instant, isForced: isForced)
    }

    func refused(isForced: Bool = false) -> Authenticator.Need {
        auth.need(afterRefusalOf: auth.authorization, instant, isForced: isForced)
    }

    func begin() -> TokenRequest? {
        auth.begin(instant)
    }

    func seed(_ tokens: Tokens) -> Bool {
        auth.seed(tokens)
    }

    /// One whole exchange, written down.
    @discardableResult
    func exchange(_ answer: Authenticator.Answer) -> Authenticator.Result? {
        guard let request = auth.begin(instant) else { return nil }
        auth.saved()
        let result = auth.end(answer, request.mapping, instant, using: &random)
        auth.saved()
        return result
    }

    @discardableResult
    func exchange(_ status: Int, _ body: String = "", retryAfter: Double? = nil)
        -> Authenticator.Result?
    {
        exchange(.response(status: status, body: Array(body.utf8), retryAfter: retryAfter))
    }

    /// A copy of the rig, to go another way.
    func copy() -> AuthRig {
        let copy = AuthRig(now: now, hasTime: hasTime)
        copy.auth = auth
        return copy
    }

    /// The next daemon, with what this one has left on disk.
    func restarted(_ plan: AuthPlan, after seconds: Double = 10, hasTime: Bool? = nil) -> AuthRig {
        AuthRig(plan, record: auth.record, now: now + seconds, hasTime: hasTime ?? self.hasTime)
    }
}

extension AuthPlan {
    /// A seed of two tokens and an endpoint that wants the refresh token.
    static func usual(
        seed: Tokens = Tokens(access: "a0", refresh: "r0"), epoch: Int = 0, isRaw: Bool = false,
        hasEndpoint: Bool = true, payload: [RefreshRules.Field]? = nil, headers: [RefreshRules.Field]? = nil,
        mapping: TokenMapping = TokenMapping(), skew: Double = 60, host: String = "up.example",
        refreshHost: String = "id.example", scheme: String = "https", port: Int = 443, refreshPort: Int = 443,
        proxy: String? = nil
    ) -> AuthPlan {
        let rules = RefreshRules(
            url: "https://\(refreshHost)/token",
            payload: payload ?? [.init(name: "refresh_token", template: "{refreshToken}")],
            headers: headers ?? [.init(name: "Authorization", template: "Bearer {accessToken}")],
            isJSON: false, mapping: mapping)
        return AuthPlan(
            seed: seed, seedEpoch: epoch, isRaw: isRaw, refresh: hasEndpoint ? rules : nil, skew: skew,
            uploadOrigin: TokenOrigin(scheme: scheme, host: host, port: port, proxy: proxy),
            refreshOrigin: hasEndpoint
                ? TokenOrigin(scheme: "https", host: refreshHost, port: refreshPort, proxy: proxy) : nil)
    }
}
