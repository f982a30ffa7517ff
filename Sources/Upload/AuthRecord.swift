/// What of the credentials survives a restart. Kept encrypted.
public struct AuthRecord: Equatable, Sendable, Codable {
    /// Why tokens are of no use any more. The names are the control interface's.
    public enum Death: String, Codable, Sendable {
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
    public struct Moment: Equatable, Sendable, Codable {
        /// Seconds since the boot.
        public var seconds: Double
        /// Unix seconds; nil when no clock could be trusted.
        public var time: Int64?

        /// As the clocks say.
        public init(seconds: Double, time: Int64?) {
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
    public var tokens = Tokens()
    /// The pair before, until the new one has worked.
    public var previous: Tokens?
    /// A refresh may be under way whose answer has not been read: the endpoint may have retired `tokens` already.
    public var isExchanging = false
    /// Of the seed that was adopted last from the configuration.
    public var seedDigest: String?
    /// The highest that was adopted.
    public var seedEpoch = 0
    /// Where the tokens go with uploads; nil before any were adopted.
    public var uploadOrigin: TokenOrigin?
    /// Where they were last refreshed; nil for none yet.
    public var refreshOrigin: TokenOrigin?
    /// What an earlier version knew instead of `uploadOrigin`.
    public var uploadHost: String?
    /// What an earlier version knew instead of `refreshOrigin`.
    public var refreshHost: String?
    /// Set while they are of no use.
    public var death: Death?
    /// The last status of the endpoint, when that is why.
    public var deathStatus: Int?
    /// The last attempt to refresh dead ones.
    public var lastAttempt: Moment?
    /// The last successful refresh, in Unix milliseconds of the best clock.
    public var lastRefresh: Int64?

    /// Nothing stored yet.
    public init() {}

    /// Nothing has been adopted.
    public var isBlank: Bool { uploadOrigin == nil && uploadHost == nil }
}

/// What the configuration says about credentials.
public struct AuthPlan: Equatable, Sendable {
    /// The tokens written there.
    public var seed: Tokens
    /// A higher number than before has the seed adopted again.
    public var seedEpoch: Int
    /// The token stands in `Authorization` alone, without `Bearer`.
    public var isRaw: Bool
    /// nil: never refreshed.
    public var refresh: RefreshRules?
    /// Seconds before its expiry at which a token is refreshed.
    public var skew: Double
    /// Where uploads go.
    public var uploadOrigin: TokenOrigin
    /// Where refreshes go; nil: nowhere.
    public var refreshOrigin: TokenOrigin?

    /// As configured.
    public init(
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
