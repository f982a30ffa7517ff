internal import ServerStore
internal import Synchronization

/// Whether something can be stored now: a row is written, and is where a batch would be when it is acknowledged. Anybody may ask,
/// so that one look at a time answers all, and one a second writes.
final class Readiness: Sendable {
    private typealias Answer = Result<Void, StoreError>

    private struct State {
        /// When a row was written last.
        var written: ContinuousClock.Instant?
        /// When the look began that is under way.
        var begun: ContinuousClock.Instant?
        var waiting: [Int: CheckedContinuation<Answer, Never>] = [:]
        var next = 0
    }

    /// The time within which an answer is given.
    private static let limit = Duration.seconds(2)
    private static let freshness = Duration.seconds(1)

    private let store: Store
    private let state = Mutex(State())

    init(store: Store) {
        self.store = store
    }

    /// - Throws: why nothing can be stored.
    func confirm() async throws(StoreError) {
        let answer: Answer = await withCheckedContinuation { continuation in
            let now = ContinuousClock.now
            let (begun, number, isFirst) = state.withLock { state -> (ContinuousClock.Instant, Int, Bool) in
                let isFirst = state.begun == nil
                let begun = state.begun ?? now
                state.begun = begun
                state.next += 1
                state.waiting[state.next] = continuation
                return (begun, state.next, isFirst)
            }
            if isFirst { Task.detached { [self] in await look() } }
            Task.detached { [self] in
                // A COMMIT may hang for as long as a standby is away.
                try? await Task.sleep(until: begun + Self.limit, clock: .continuous)
                state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: Self.late)
            }
        }
        try answer.get()
    }

    private static let late = Answer.failure(
        StoreError(.unavailable, operation: "health", message: "a row could not be stored within 2 s"))

    private func look() async {
        let now = ContinuousClock.now
        let isFresh = state.withLock { $0.written.map { now - $0 < Self.freshness } ?? false }
        let answer: Answer
        do throws(StoreError) {
            if isFresh {
                try await store.read { session throws(StoreError) in
                    try session.run("SELECT 1")
                    try session.confirm()
                }
            } else {
                _ = try await store.write(isRepeatable: true) { session throws(StoreError) in
                    try session.run(
                        """
                        INSERT INTO numbers(kind, next) VALUES ('health', 1)
                        ON CONFLICT (kind) DO UPDATE SET next = numbers.next + 1
                        """)
                }
            }
            answer = .success(())
        } catch {
            answer = .failure(error)
        }
        let waiting = state.withLock { state in
            defer { state.waiting = [:] }
            state.begun = nil
            if case .failure = answer { state.written = nil } else if !isFresh { state.written = now }
            return state.waiting.values.map { $0 }
        }
        for continuation in waiting { continuation.resume(returning: answer) }
    }
}
