internal import Base
internal import Logging
internal import ServerStore
internal import ServiceLifecycle

/// Deletes the rows of vehicles that are gone, step by step. Between two steps it makes room for uploads.
struct Removals: Service {
    private let store: Store
    private let clock: ClockKeeper
    private let logger: Logger
    private let calls: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation

    /// Between two looks for what another server, or a verb without one, has left to do.
    private static let round = Duration.seconds(60)
    /// The shortest pause between two steps; it is as long as the step took, if that is longer.
    private static let pause = Duration.milliseconds(5)

    init(store: Store, clock: ClockKeeper, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
        (calls, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Says that there is something to do.
    func wake() { alarm.yield() }

    func run() async throws {
        wake()
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        // Ends early with the server.
                        try? await Task.sleep(for: Self.round)
                        wake()
                    }
                }
                for await _ in calls {
                    await work()
                    if Task.isCancelled { break }
                }
                group.cancelAll()
            }
        }
    }

    private func work() async {
        do {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                let now = clock.wall(Responder.now)
                let outcome = try await store.write { session throws(StoreError) in
                    try Removal.advance(now: now, in: session)
                }
                guard outcome == .more else { return }
                try await Task.sleep(for: max(Self.pause, .now - start))
            }
        } catch {
            // What is left is done in the next round.
            if !Task.isCancelled {
                logger.failure(error, of: "deleting a vehicle", then: "trying again in a minute")
            }
        }
    }
}
