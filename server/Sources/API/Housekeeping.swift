internal import Base
internal import Forwards
internal import Logging
internal import ServerStore
internal import ServiceLifecycle

/// What the database needs once an hour: room for what comes, and removal of what is older than the retention. With
/// PostgreSQL every server does it, and finds little.
struct Housekeeping: Service {
    let store: Store
    /// For which locations are kept; nil: for ever.
    let days: Int?
    /// For which ids of batches are remembered.
    let batchDays: Int
    /// Names of the targets to which batches are forwarded.
    let forwards: [String]
    let clock: ClockKeeper
    let logger: Logger

    private static let round = Duration.seconds(3600)
    /// After a failure: others may have held what was to be removed.
    private static let retry = Duration.seconds(600)

    /// Makes room for what comes first.
    func prepare() async {
        do {
            try await prepare(at: Responder.now)
        } catch {
            logger.failure(error, of: "housekeeping")
        }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { await keep() }
    }

    private func keep() async {
        while !Task.isCancelled {
            var pause = Self.round
            do {
                try await tidy()
            } catch {
                logger.failure(error, of: "housekeeping", then: "trying again in 10 minutes")
                pause = Self.retry
            }
            // Ends early with the server.
            try? await Task.sleep(for: pause)
        }
    }

    private func tidy() async throws {
        let now = Responder.now
        try await prepare(at: now)
        guard let age = clock.age(now) else { return }
        let remembered = age.advanced(bySeconds: -86_400 * Double(batchDays))
        while try await store.write({ session throws(StoreError) in
            try Retention.forgetBatches(before: remembered, in: session)
        }) {
            if Task.isCancelled { return }
        }
        try await dropForgotten(at: age)
        guard let days else { return }
        let before = age.advanced(bySeconds: -86_400 * Double(days))
        while try await store.write({ session throws(StoreError) in
            try Retention.prune(before: before, in: session)
        }) {
            if Task.isCancelled { return }
        }
    }

    /// What waits for targets that no server has any more: nobody else would drop it.
    private func dropForgotten(at age: Timestamp) async throws {
        let (names, longest) = (forwards, min(days ?? .max, ForwardTarget.ages.upperBound))
        let before = age.advanced(bySeconds: -86_400 * Double(longest))
        while !Task.isCancelled,
            let dropped = try await store.write({ session throws(StoreError) in
                try Outbox.dropForgotten(before: before, but: names, in: session)
            })
        {
            logger.error(
                "forward '\(dropped.target)': dropped: \(dropped.count) batches that were older than \(longest) days; no [[forward]] has that name any more"
            )
        }
    }

    private func prepare(at now: Timestamp) async throws {
        try await store.write { session throws(StoreError) in try Upkeep.prepare(at: now, in: session) }
    }
}
