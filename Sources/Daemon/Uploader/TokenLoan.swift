internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Upload

/// The tokens of `main` as one of the destinations that share them has them: read, never exchanged or written.
///
/// Confined to the uploader's thread.
final class TokenLoan {
    private let shared: SharedTokens
    private let port: UploaderPort
    /// The url that the tokens are to be sent to.
    private let url: String
    private let proxy: String?
    /// What the latest request was authorised with, and refused for.
    private var refused: String?
    /// When to wait for `main` no longer, if it is asked.
    private(set) var deadline: BootInstant?

    /// Seconds to wait for an exchange: it may take 15, and `main` may be in the middle of a request before.
    private static let patience = 20.0
    /// Seconds after that until the next attempt.
    private static let pause = 5.0

    /// - Parameter deadline: until when `main`, which has been asked, is waited for.
    init(
        _ shared: SharedTokens, _ port: UploaderPort, for sync: Settings.Sync,
        askedUntil deadline: BootInstant? = nil
    ) {
        self.deadline = deadline
        self.shared = shared
        self.port = port
        (url, proxy) = (sync.url, sync.proxy)
        shared.add(port.name, port.commands.wakeup)
    }

    deinit {
        shared.remove(port.name, port.commands.wakeup)
    }

    /// nil as long as `main` has not read them, or has some for another server by settings that are on their way.
    private var lent: SharedTokens.Lent? {
        shared.lent.flatMap { lent in
            Settings.areSamePlace(lent.url, url) && lent.origin.covers(TokenOrigin(lent.url, proxy))
                ? lent : nil
        }
    }

    var state: AuthState { lent?.state ?? AuthState() }
    var advice: String? { lent?.advice }
    /// Why there is no token; nil when that is not known.
    var words: String? { lent?.words }
    /// The value of `Authorization` for the next request; nil for none.
    var authorization: String? { lent?.authorization }

    /// Whether a batch can be sent.
    func check() -> Drain.TokenCheck {
        refused = nil
        return check(lent)
    }

    /// Whether the batch can be sent again after the backend has refused it.
    func check(afterRefusalOf sent: String?) -> Drain.TokenCheck {
        refused = sent
        return check(lent)
    }

    private func check(_ lent: SharedTokens.Lent?) -> Drain.TokenCheck {
        guard let lent else { return .due(hasToken: false) }
        if let authorization = lent.authorization, authorization != refused { return .usable }
        guard lent.canRenew else { return .dead }
        return .due(hasToken: lent.authorization != nil)
    }

    /// Asks `main` for another token.
    ///
    /// - Returns: nil once it is asked; else why it is not.
    func begin(now: BootInstant) -> Drain.TokenCheck? {
        if let rest = rest(lent, now: now) { return rest }
        shared.demand(afterRefusalOf: refused)
        deadline = now.advanced(bySeconds: Self.patience)
        return nil
    }

    /// `main` has been asked for a token, and has neither brought one nor failed.
    var isAsking: Bool { deadline != nil }

    /// Looks whether `main` has brought one.
    ///
    /// - Returns: nil while it may.
    func advance(isStopping: Bool, now: BootInstant) -> Drain.TokenCheck? {
        let found = lent
        let check = check(found)
        guard case .due = check, !isStopping, let deadline else { return end(check) }
        if let rest = rest(found, now: now) { return end(rest) }
        return now < deadline ? nil : end(.resting(seconds: Self.pause, isNetwork: false))
    }

    /// The rest until the deadline; what `main` has to show wakes the thread.
    var rest: Rest { Rest(until: deadline) }

    private func end(_ check: Drain.TokenCheck) -> Drain.TokenCheck {
        deadline = nil
        return check
    }

    private func rest(_ lent: SharedTokens.Lent?, now: BootInstant) -> Drain.TokenCheck? {
        guard let lent, let until = lent.restsUntil, until > now else { return nil }
        return .resting(seconds: until.seconds(since: now), isNetwork: lent.waitsForNetwork)
    }
}
