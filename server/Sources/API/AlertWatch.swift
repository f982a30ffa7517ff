internal import Base
internal import Logging
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Keeps the rules by which uploads are judged, and looks for vehicles that are silent. Without rules, all that it does is to ask
/// the database every few seconds whether another server has got one.
final class AlertWatch: Service {
    private struct State {
        var rules: RuleBook?
        /// nil before the first look.
        var revision: Int64?
    }

    /// Between two looks for rules that another server has changed.
    private static let pause = Duration.seconds(5)
    /// Looks for silent vehicles, one in so many.
    private static let looks = 4

    private let store: Store
    private let clock: ClockKeeper
    private let logger: Logger
    private let state = Mutex(State())

    init(store: Store, clock: ClockKeeper, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    /// By what uploads are judged; nil: by nothing.
    var rules: RuleBook? { state.withLock { $0.rules } }

    /// Reads the rules anew, where they have changed.
    func load() async throws {
        let known = state.withLock { $0.revision }
        let new = try await store.read { session throws(StoreError) -> (Int64, RuleBook?)? in
            // Before the rules: what changes in between is read once more.
            let revision = try AlertRules.revision(in: session)
            guard revision != known else { return nil }
            return (revision, RuleBook(try AlertRules.all(in: session).map(\.rule)))
        }
        guard let new else { return }
        state.withLock { state in
            // Another call may have read newer ones.
            guard (state.revision ?? 0) < new.0 else { return }
            state = State(rules: new.1, revision: new.0)
        }
    }

    /// Before anybody is served: what comes first is judged, too.
    func prepare() async {
        do {
            try await load()
        } catch {
            logger.failure(error, of: "rules", then: "trying again in 5 s")
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            var count = 0
            while !Task.isCancelled {
                do {
                    try await load()
                    if count % Self.looks == 0, let rules, rules.watchesSilence { try await look(by: rules) }
                } catch {
                    if !Task.isCancelled { logger.failure(error, of: "rules", then: "trying again in 5 s") }
                }
                count += 1
                // Ends early with the server.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func look(by rules: RuleBook) async throws {
        let now = clock.wall(Responder.now)
        try await store.write { session throws(StoreError) in
            try Silences.look(by: rules, now: now, in: session)
        }
    }
}
