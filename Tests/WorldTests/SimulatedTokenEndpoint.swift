import Base
import Linux
import Support

@testable import DaemonConfiguration
@testable import Upload

/// A token endpoint: the tokens that it has given, people in its name among them, and what it says to who asks for others.
final class SimulatedTokenEndpoint {
    /// What becomes of a refresh token that was exchanged.
    private enum Rotation: CaseIterable {
        /// The refresh token stays the only one.
        case none
        /// The old pair stays good beside the new one, as docs/authentication.md asks of a server. What may not be
        /// used any more is for the laws to say.
        case withGrace
        /// The old pair is gone at once, whatever becomes of the answer.
        case atOnce
    }

    /// What becomes of one request.
    enum Fate: String, CaseIterable {
        case granted = "token granted"
        case grantedLate = "token granted late"
        case grantedAndLost = "token granted and lost"
        case grantedAndTimeout = "token granted and timeout"
        case gateway = "token granted behind a gateway"
        case lost = "token request lost"
        case unreachable = "token endpoint unreachable"
        case timeout = "token timeout"
        case unavailable = "token endpoint unavailable"
        case tooMany = "token requests too many"
        case refused = "token refused"
        case nothing = "no token in an answer"

        fileprivate var isGrant: Bool {
            switch self {
            case .granted, .grantedLate, .grantedAndLost, .grantedAndTimeout, .gateway: true
            case .lost, .unreachable, .timeout, .unavailable, .tooMany, .refused, .nothing: false
            }
        }
    }

    /// The destination whose tokens it makes; others may share them.
    let owner: DestinationName
    let laws: TokenLaws
    var mood = SimulatedServer.Mood.good
    /// How often each has happened.
    private(set) var fates: [Fate: Int] = [:]
    /// Told of each request.
    var trace: (String) -> Void = { _ in }
    /// Called when a request has been sent, and not been answered.
    var disturb: () -> Void = {}
    private let generators: UInt64
    private var answered = 0
    /// For the exchange under way.
    private var random: SeededGenerator
    private let clock: () -> BootInstant
    private let rotation: Rotation
    /// By access and by refresh token.
    private var pairs: [String: TokenLaws.Pair] = [:]
    private var retired: Set<String> = []
    /// By access token: when it ends.
    private var ends: [String: BootInstant] = [:]
    /// The latest exchange of each seed.
    private var exchanges: [Int: Int] = [:]
    /// Hosts that its server has had before.
    private var moves = 0
    /// What the configuration has.
    private var seed = Tokens()

    init(of owner: DestinationName, seed: UInt64, _ laws: Laws, clock: @escaping () -> BootInstant) {
        self.owner = owner
        self.laws = TokenLaws(laws)
        self.clock = clock
        generators = seed
        random = SeededGenerator(seed, 0)
        rotation = Rotation.allCases.randomElement(using: &random) ?? .none
        self.seed = give().tokens
        if random.chance(0.3) { self.seed.access = nil }
    }

    var url: String { "https://id.\(owner.text).example/token" }
    /// Where uploads go.
    var host: String { moves == 0 ? "\(owner.text).example" : "\(owner.text)-\(moves).example" }

    /// The table `[sync.auth]`.
    var settings: Settings.Auth {
        var auth = Settings.Auth()
        auth.accessToken = seed.access.map { Secret($0) }
        auth.refreshToken = seed.refresh.map { Secret($0) }
        auth.refreshURL = url
        auth.refreshPayload = [.init(name: "refresh_token", value: Secret("{refreshToken}"))]
        return auth
    }

    /// The table is another: with new tokens, or for another host, with new tokens or without.
    func reconfigure(using random: inout SeededGenerator) {
        let (isElsewhere, isNew) = (random.chance(0.1), Double.random(in: 0..<1, using: &random))
        if isElsewhere {
            moves += 1
            laws.mayDie(of: .hostChanged)
        }
        if isNew < (isElsewhere ? 0.5 : 0.2) { seed = give().tokens }
    }

    /// New tokens, which somebody gives to the vehicle.
    func give() -> (pair: TokenLaws.Pair, tokens: Tokens) {
        let pair = TokenLaws.Pair(
            seed: exchanges.count + 1, exchange: 0, host: host, lifetime: nil)
        exchanges[pair.seed] = 0
        var random = SeededGenerator(generators, -pair.seed)
        return (pair, issue(pair, lasting: [300, 1800, nil].randomElement(using: &random) ?? nil))
    }

    private func issue(_ pair: TokenLaws.Pair, lasting lifetime: Double?) -> Tokens {
        let access = "a-\(pair.host)-\(pair.seed)-\(pair.exchange)"
        // Without rotation the first one stays.
        let refresh = "r-\(pair.host)-\(pair.seed)-\(rotation == .none ? 0 : pair.exchange)"
        pairs[access] = pair
        pairs[refresh] = pairs[refresh] ?? pair
        if let lifetime { ends[access] = clock().advanced(bySeconds: lifetime) }
        return Tokens(access: access, refresh: refresh)
    }

    // MARK: Uploads

    /// A request of this destination is sent.
    ///
    /// - Returns: whether its token is good.
    func admits(_ options: HTTPOptions) -> Bool {
        let host = options.url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
        // "Without an access token beekond refreshes first."
        guard let token = Self.bearer(options) else {
            laws.broken("a request to \(host) has no token")
            return false
        }
        guard let pair = pairs[token] else {
            laws.broken("a request to \(host) has a token that nobody has given for it")
            return false
        }
        laws.used(pair, at: host)
        return ends[token].map { clock() < $0 } ?? true
    }

    static func bearer(_ options: HTTPOptions) -> String? {
        let prefix = "Authorization: Bearer "
        return options.headers.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    // MARK: Exchanges

    /// The first byte of a request to it has been sent.
    func answer(to body: [UInt8], _ options: HTTPOptions) -> SimulatedAnswer {
        let text = String(decoding: body, as: UTF8.self)
        let token = text.split(separator: "=").last.map(String.init) ?? ""
        // Without rotation only the other token tells which pair it is.
        let pair = Self.bearer(options).flatMap { pairs[$0] } ?? pairs[token]
        guard let pair, pairs[token]?.seed == pair.seed else {
            laws.broken("\(owner.text)'s endpoint gets a token that it has not given")
            return SimulatedAnswer(.answered(400), after: 1)
        }
        laws.exchanges(pair, now: clock())
        answered += 1
        random = SeededGenerator(generators, answered)
        var fate = draw()
        if fate.isGrant, retired.contains(token) { fate = .refused }
        fates[fate, default: 0] += 1
        trace("exchange \(pair.exchange) of seed \(pair.seed) of \(owner.text): \(fate)")
        defer { disturb() }
        return answer(fate, pair, token)
    }

    private func draw() -> Fate {
        let choices: [Fate] =
            switch mood {
            case .good: [.granted, .granted, .granted, .grantedLate]
            case .flaky:
                [
                    .granted, .grantedLate, .grantedAndLost, .grantedAndTimeout, .gateway, .lost,
                    .unreachable,
                    .timeout,
                ]
            case .away: [.unreachable, .timeout]
            case .refusing: [.granted, .unavailable, .tooMany, .refused, .nothing]
            }
        return choices.randomElement(using: &random) ?? .granted
    }

    private func answer(_ fate: Fate, _ pair: TokenLaws.Pair, _ token: String) -> SimulatedAnswer {
        let (new, text) = fate.isGrant ? grant(pair, token) : (pair, "")
        let delay = Double.random(in: 0.01...2, using: &random)
        let late = Double.random(in: 1...14, using: &random)
        switch fate {
        case .granted, .grantedLate:
            return SimulatedAnswer(.answered(200, text), after: fate == .granted ? delay : late) {
                [laws, clock] in laws.received(new, now: clock())
            }
        case .grantedAndLost, .lost:
            return SimulatedAnswer(.failed("the connection was lost", wasSent: true), after: delay)
        case .unreachable:
            return SimulatedAnswer(.failed("no route to host", wasSent: false), after: delay)
        case .grantedAndTimeout, .timeout:
            return SimulatedAnswer(
                .failed("the time is over", wasSent: true, isTimeout: true), after: TokenRequest.timeout)
        case .gateway: return SimulatedAnswer(.answered(504), after: late)
        case .unavailable:
            return SimulatedAnswer(.answered(503, headers: ["Retry-After: 120"]), after: delay)
        case .tooMany: return SimulatedAnswer(.answered(429), after: delay)
        case .refused:
            laws.mayDie(of: .refused, .rotationInterrupted)
            return SimulatedAnswer(.answered(400, #"{"error":"invalid_grant"}"#), after: delay)
        case .nothing:
            laws.mayDie(of: .noToken)
            return SimulatedAnswer(.answered(200, #"{"status":"ok"}"#), after: delay)
        }
    }

    private func grant(_ old: TokenLaws.Pair, _ token: String) -> (TokenLaws.Pair, text: String) {
        exchanges[old.seed, default: 0] += 1
        let lifetime: Double? = [60, 120, 300, 900, 1800, nil].randomElement(using: &random) ?? nil
        let pair = TokenLaws.Pair(
            seed: old.seed, exchange: exchanges[old.seed] ?? 0, host: old.host, lifetime: lifetime)
        let tokens = issue(pair, lasting: lifetime ?? (random.chance(0.5) ? nil : 900))
        if rotation == .atOnce { retired.insert(token) }
        var members = ["\"access_token\":\"\(tokens.access ?? "")\""]
        // "Without a new refresh token the old one stays."
        if rotation != .none { members.append("\"refresh_token\":\"\(tokens.refresh ?? "")\"") }
        if let lifetime {
            members.append(
                random.chance(0.5) ? "\"expires_in\":\(Int(lifetime))" : "\"expiresIn\":\"\(Int(lifetime))\"")
        } else if random.chance(0.5) {
            // None of them is a number.
            let word = ["0x10", "soon", "inf", "1e"].randomElement(using: &random) ?? ""
            members.append("\"expires_in\":\"\(word)\"")
        }
        return (pair, "{\(members.joined(separator: ","))}")
    }
}
