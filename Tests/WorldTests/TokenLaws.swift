import Base

@testable import Upload

/// What is promised of the tokens of one destination, and of those that share them: docs/authentication.md.
final class TokenLaws {
    /// A pair of tokens, by how it came about.
    struct Pair: Comparable {
        /// What people give is counted, and replaces all there was before.
        let seed: Int
        /// Exchanges since, each of which replaces the pair that it began with.
        let exchange: Int
        /// Where uploads carry it to.
        let host: String
        /// Seconds, as far as the daemon has been told.
        let lifetime: Double?

        static func < (one: Pair, other: Pair) -> Bool {
            (one.seed, one.exchange) < (other.seed, other.exchange)
        }
    }

    private let laws: Laws
    /// The latest pair that has been used, or whose giving was answered: it is on the disk.
    private var kept: Pair?
    /// The latest pair that the process that lives has got from the endpoint, and when.
    private var received: (pair: Pair, at: BootInstant)?
    /// A server has refused the token since.
    private var isRefused = false
    /// What the credentials may have died of since there is a newer pair.
    private var reasons: Set<AuthRecord.Death> = []

    init(_ laws: Laws) { self.laws = laws }

    func broken(_ what: String) { laws.broken(what) }

    /// A process has died.
    func died() { (received, isRefused) = (nil, false) }

    /// The first byte of a request to this host has been sent with the access token of a pair.
    func used(_ pair: Pair, at host: String) {
        // "Where tokens and secrets may go": another host in `url` drops the tokens.
        if pair.host != host { broken("a token for \(pair.host) is sent to \(host)") }
        keep(pair)
    }

    /// An answer without any other fault has refused the token.
    func refused() { isRefused = true }

    /// The first byte of a request to the endpoint has been sent.
    func exchanges(_ pair: Pair, now: BootInstant) {
        // "A refresh": so long before the expiry, or once when the server answers 401 or 403.
        if let received, received.pair == pair, !isRefused {
            let left = pair.lifetime.map { $0 - now.seconds(since: received.at) } ?? .infinity
            let margin = min(60, (pair.lifetime ?? 0) / 2) + 1
            if left > margin {
                broken("a token is renewed that nobody has refused, and that lasts \(left) s")
            }
        }
        keep(pair)
    }

    /// The answer with a new pair has come.
    func received(_ pair: Pair, now: BootInstant) {
        received = (pair, now)
        isRefused = false
    }

    /// New tokens were given, and that was answered: they hold, also after a kill (`TokenKeeper.seed`).
    func given(_ pair: Pair) { keep(pair) }

    /// "A power cut during a rotation": a new pair is on the disk before its first use, so nothing goes back to an earlier one.
    private func keep(_ pair: Pair) {
        if let kept, pair < kept {
            broken(
                "tokens are lost: those of seed \(pair.seed), exchange \(pair.exchange) come back after seed "
                    + "\(kept.seed), exchange \(kept.exchange)")
        }
        if kept.map({ $0 < pair }) ?? true { (kept, reasons) = (pair, []) }
    }

    /// The endpoint, or what became of the vehicle, gives a reason to give the credentials up.
    func mayDie(of deaths: AuthRecord.Death...) { reasons.formUnion(deaths) }

    /// The credentials count as dead: "A refresh" says what they may die of.
    func dead(of death: AuthRecord.Death) {
        if !reasons.contains(death) { broken("tokens are given up (\(death.rawValue)) without a reason") }
    }
}
