internal import Base
internal import Linux
internal import Synchronization
internal import Upload

/// The tokens of `main`, for the destinations that share them (`auth = "main"`). The uploader of `main` alone exchanges and
/// keeps them, and puts here what is on the disk; the others read it, and say when they need another. Nobody waits for a
/// lock, or for anybody who waits in turn.
final class SharedTokens: Sendable {
    /// What `main` has.
    struct Lent: Equatable, Sendable {
        /// The value of `Authorization`; nil: there is no token.
        var authorization: String?
        /// Where it may be sent: to this scheme, host and port …
        var url: String
        /// … and, as `main` has it, by which proxy.
        var origin: TokenOrigin
        var state = AuthState()
        /// Why the tokens are of no use, and what to do; nil while they are.
        var advice: String?
        /// A few words of why the tokens are of no use; nil while they are.
        var words: String?
        /// An exchange may bring another.
        var canRenew = false
        /// The latest exchange failed, and the next one is made no earlier.
        var restsUntil: BootInstant?
        /// The network is to blame for that.
        var waitsForNetwork = false
    }

    private struct State {
        var lent: Lent?
        /// What was refused; "" where there was no token to send.
        var demands: Set<String> = []
        var borrowers: [DestinationName: Wakeup] = [:]
    }

    private let state = Mutex(State())
    private let owner: Wakeup

    /// - Parameter owner: wakes the uploader of `main`.
    init(waking owner: Wakeup) {
        self.owner = owner
    }

    // MARK: For `main`

    /// - Parameter lent: on the disk; nil while `main` has no credentials.
    func lend(_ lent: Lent?) {
        let borrowers = state.withLock { state -> [Wakeup] in
            guard state.lent != lent else { return [] }
            state.lent = lent
            return Array(state.borrowers.values)
        }
        for wakeup in borrowers { wakeup.signal() }
    }

    /// What the others were refused with since the last call; nil: with none at all.
    func takeDemands() -> [String?] {
        state.withLock { state in
            defer { state.demands = [] }
            return state.demands.map { $0.isEmpty ? nil : $0 }
        }
    }

    // MARK: For the others

    /// nil before `main` has read its own, and while it has none.
    var lent: Lent? { state.withLock { $0.lent } }

    /// - Parameter refused: the `Authorization` that the server has refused; nil: there was none.
    func demand(afterRefusalOf refused: String?) {
        state.withLock { _ = $0.demands.insert(refused ?? "") }
        owner.signal()
    }

    /// - Parameter wakeup: signalled whenever what is lent changes.
    func add(_ borrower: DestinationName, _ wakeup: Wakeup) {
        state.withLock { $0.borrowers[borrower] = wakeup }
    }

    /// Unless another has taken its name meanwhile.
    func remove(_ borrower: DestinationName, _ wakeup: Wakeup) {
        state.withLock { if $0.borrowers[borrower] === wakeup { $0.borrowers[borrower] = nil } }
    }
}
