/// What of the credentials survives a restart. Kept encrypted.
package struct AuthRecord: Equatable, Sendable, Codable {
    /// Why tokens are of no use any more. The names are the control interface's.
    package enum Death: String, Codable, Sendable {
        /// The endpoint has refused to refresh them: 3xx, or a 4xx but 408 and 429.
        case refused
        /// The endpoint has answered with 2xx, and without a token.
        case noToken = "no_token"
        /// A power cut or a lost answer has interrupted an exchange, and the pair that it began with is refused now.
        case rotationInterrupted = "rotation_interrupted"
        /// The backend refuses the token, and there is nothing to refresh it with.
        case noRefresh = "no_refresh"
        /// The backend or the endpoint is another origin than the one that the tokens are for.
        case hostChanged = "host_changed"
        /// They cannot be decrypted.
        case key

        /// Asking again may help: the endpoint may have been at fault.
        var mayPass: Bool {
            switch self {
            case .refused, .noToken, .rotationInterrupted: true
            case .noRefresh, .hostChanged, .key: false
            }
        }
    }

    /// A moment that can be compared with another one after a restart.
    package struct Moment: Equatable, Sendable, Codable {
        /// Seconds since the boot.
        package var seconds: Double
        /// Unix seconds; nil when no clock could be trusted.
        package var time: Int64?

        /// As the clocks say.
        package init(seconds: Double, time: Int64?) {
            self.seconds = seconds
            self.time = time
        }

        /// Seconds since an earlier moment; nil when they cannot be told. Without a clock, more seconds since the boot
        /// than then pass for the same boot: waiting too long does less harm than asking too often.
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
    /// The pair before, until the new one has worked.
    package var previous: Tokens?
    /// A refresh may be under way whose answer has not been read: the endpoint may have retired `tokens` already.
    package var isExchanging = false
    /// Of the seed that was adopted last from the configuration.
    package var seedDigest: String?
    /// The highest that was adopted.
    package var seedEpoch = 0
    /// Where the tokens go with uploads; nil before any were adopted.
    package var uploadOrigin: TokenOrigin?
    /// Where they were last refreshed; nil for none yet.
    package var refreshOrigin: TokenOrigin?
    /// What an earlier version knew instead of `uploadOrigin`.
    package var uploadHost: String?
    /// What an earlier version knew instead of `refreshOrigin`.
    package var refreshHost: String?
    /// Set while they are of no use.
    package var death: Death?
    /// The last status of the endpoint, when that is why.
    package var deathStatus: Int?
    /// The last attempt to refresh dead ones.
    package var lastAttempt: Moment?
    /// The last successful refresh, in Unix milliseconds of the best clock.
    package var lastRefresh: Int64?

    /// Nothing stored yet.
    package init() {}

    /// Nothing has been adopted.
    package var isBlank: Bool { uploadOrigin == nil && uploadHost == nil }
}

/// What the configuration says about credentials.
package struct AuthPlan: Equatable, Sendable {
    /// The tokens written there.
    package var seed: Tokens
    /// A higher number than before has the seed adopted again.
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

    /// As configured.
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
