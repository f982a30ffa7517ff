/// The part of the credentials that survives a restart. Stored encrypted.
package struct AuthRecord: Equatable, Sendable, Codable {
    /// Why the tokens can no longer be used. The raw values are the control interface's.
    package enum Death: String, Codable, Sendable {
        /// The endpoint has refused to refresh them: 3xx, or a 4xx other than 408 and 429.
        case refused
        /// The endpoint has answered 2xx without a token.
        case noToken = "no_token"
        /// A power cut or a lost answer interrupted an exchange, and the pair it began with is now refused.
        case rotationInterrupted = "rotation_interrupted"
        /// The backend refuses the token, and there is nothing to refresh it with.
        case noRefresh = "no_refresh"
        /// The backend or the endpoint is not the origin that the tokens are for.
        case hostChanged = "host_changed"
        /// The tokens cannot be read or decrypted.
        case key

        /// Asking again may help: the endpoint may have been at fault.
        var mayPass: Bool {
            switch self {
            case .refused, .noToken, .rotationInterrupted: true
            case .noRefresh, .hostChanged, .key: false
            }
        }
    }

    /// A point in time that can be compared with a later one even after a restart.
    package struct Moment: Equatable, Sendable, Codable {
        /// Seconds since the boot.
        package var seconds: Double
        /// Unix seconds; nil when no clock could be trusted.
        package var time: Int64?

        package init(seconds: Double, time: Int64?) {
            self.seconds = seconds
            self.time = time
        }

        /// Seconds since an earlier moment; nil when that cannot be known. Without a trusted clock, a longer uptime than
        /// then is taken for the same boot: waiting too long does less harm than asking too often.
        func seconds(since earlier: Moment) -> Double? {
            let difference =
                if let time, let before = earlier.time { Double(time &- before) } else {
                    seconds - earlier.seconds
                }
            return difference >= 0 ? difference : nil
        }
    }

    /// The pair in use.
    package var tokens = Tokens()
    /// The pair before it, until the new one has worked.
    package var previous: Tokens?
    /// A refresh may be under way whose answer has not been read: the endpoint may have retired `tokens` already.
    package var isExchanging = false
    /// Digest of the seed last taken from the configuration.
    package var seedDigest: String?
    /// The highest `seed_epoch` so far.
    package var seedEpoch = 0
    /// Where uploads carry the tokens to; nil before there were any.
    package var uploadOrigin: TokenOrigin?
    /// Where they were last refreshed; nil before the first time.
    package var refreshOrigin: TokenOrigin?
    /// What an earlier version stored instead of `uploadOrigin`.
    package var uploadHost: String?
    /// What an earlier version stored instead of `refreshOrigin`.
    package var refreshHost: String?
    /// Why they cannot be used; nil while they can.
    package var death: Death?
    /// The answer of the endpoint that they died of, if they did.
    package var deathStatus: Int?
    /// The last attempt to refresh dead ones.
    package var lastAttempt: Moment?
    /// The last successful refresh, in Unix milliseconds of the best clock.
    package var lastRefresh: Int64?

    /// Nothing stored yet.
    package init() {}

    /// Whether there have been no tokens yet.
    package var isBlank: Bool { uploadOrigin == nil && uploadHost == nil }
}

/// What the configuration says about credentials.
package struct AuthPlan: Equatable, Sendable {
    /// The tokens written there.
    package var seed: Tokens
    /// A higher number than before makes the seed count again.
    package var seedEpoch: Int
    /// The token stands in `Authorization` alone, without `Bearer`.
    package var isRaw: Bool
    /// nil: never refreshed.
    package var refresh: RefreshRules?
    /// Seconds before its expiry at which a token is refreshed.
    package var skew: Double
    /// Where uploads go.
    package var uploadOrigin: TokenOrigin
    /// Where refreshes go; nil: nowhere.
    package var refreshOrigin: TokenOrigin?

    /// The rules that the configuration gives.
    package init(
        seed: Tokens, seedEpoch: Int, isRaw: Bool, refresh: RefreshRules?, skew: Double,
        uploadOrigin: TokenOrigin, refreshOrigin: TokenOrigin?
    ) {
        self.seed = seed
        self.seedEpoch = seedEpoch
        self.isRaw = isRaw
        self.refresh = refresh
        self.skew = skew
        self.uploadOrigin = uploadOrigin
        self.refreshOrigin = refreshOrigin
    }
}
