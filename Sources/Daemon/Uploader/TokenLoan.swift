internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Synchronization
internal import Upload

/// The tokens of `main` as one of the destinations that share them has them: read, never exchanged or written.
///
/// Confined to the uploader's thread.
final class TokenLoan {
    private let shared: SharedTokens
    private let port: UploaderPort
    private let board: Board
    /// Where they are to be sent.
    private let url: String
    private let proxy: String?
    /// What the latest request was authorised with, and refused for.
    private var refused: String?

    /// Seconds to wait for an exchange: it may take 15, and `main` may be in the middle of a request before.
    private static let patience = 20.0
    /// Seconds after that until the next attempt.
    private static let rest = 5.0

    init(_ shared: SharedTokens, _ port: UploaderPort, _ board: Board, for sync: Settings.Sync) {
        self.shared = shared
        self.port = port
        self.board = board
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

    /// Asks `main` for another token, and waits for it.
    ///
    /// - Parameter meanwhile: called while that lasts, whenever something has come for this thread.
    func exchange(
        now: BootInstant, meanwhile: (_ now: BootInstant) -> Void = { _ in }
    ) -> Drain.TokenCheck {
        if let rest = rest(lent, now: now) { return rest }
        shared.demand(afterRefusalOf: refused)
        let wakeup = port.commands.wakeup
        // What comes meanwhile stays in the mailbox.
        defer { wakeup.signal() }
        let deadline = now.advanced(bySeconds: Self.patience)
        while !board.isStopping.load(ordering: .relaxed) {
            let now = BootInstant.current()
            port.work.begin(now)
            meanwhile(now)
            let found = lent
            let check = check(found)
            guard case .due = check else { return check }
            if let rest = rest(found, now: now) { return rest }
            let left = deadline.seconds(since: now)
            guard left > 0 else { return .resting(seconds: Self.rest, isNetwork: false) }
            var poll = PollSet()
            poll.add(wakeup.descriptor)
            poll.wait(seconds: left)
            wakeup.clear()
        }
        return check(lent)
    }

    private func rest(_ lent: SharedTokens.Lent?, now: BootInstant) -> Drain.TokenCheck? {
        guard let lent, let until = lent.restsUntil, until > now else { return nil }
        return .resting(seconds: until.seconds(since: now), isNetwork: lent.waitsForNetwork)
    }
}
