internal import Base
internal import Logging
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Counts the fleet for metrics where it has too many vehicles for a line each: in the background, since a million heartbeats take
/// minutes to be read, and only while somebody asks.
final class FleetTallies: Service {
    /// What was counted last.
    struct Result: Sendable {
        /// By group.
        var groups: [Int64?: FleetTally]
        /// When the count was begun.
        var time: Timestamp
    }

    /// Devices that are read at once, each with a status of up to 16 KiB.
    private static let page = 200
    /// Between two counts at least.
    private static let pause = Duration.seconds(15)
    /// How much longer than the count the pause is: whatever the size of the fleet, a tenth of a processor is enough.
    private static let share = 9

    private let store: Store
    private let logger: Logger
    private let result = Mutex<Result?>(nil)
    private let wake: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation

    init(store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
        (wake, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// - Returns: the last count, of the groups in this scope; nil: there is none yet. Another one is begun.
    func last(of scope: Viewer.Scope) -> (tally: FleetTally, time: Timestamp)? {
        alarm.yield()
        guard let result = result.withLock({ $0 }) else { return nil }
        var sum = FleetTally()
        for (group, tally) in result.groups where scope.contains(group) { sum.add(tally) }
        return (sum, result.time)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.wake {
                let start = ContinuousClock.now
                do {
                    let groups = try await self.count()
                    self.result.withLock { $0 = groups }
                } catch {
                    if !Task.isCancelled { self.logger.error("metrics: \(error)") }
                }
                // Ends early with the server.
                try? await Task.sleep(for: max(Self.pause, (ContinuousClock.now - start) * Self.share))
                if Task.isCancelled { break }
            }
        }
    }

    private func count() async throws -> Result {
        let time = Responder.now
        let now = Double(time.milliseconds) / 1000
        var groups: [Int64?: FleetTally] = [:]
        var last: Int64 = 0
        while !Task.isCancelled {
            let after = last
            let vehicles = try await store.read { session throws(StoreError) in
                try Reading.samples(for: .everything, after: after, limit: Self.page, from: session).map {
                    VehicleSample($0)
                }
            }
            for vehicle in vehicles { groups[vehicle.group, default: FleetTally()].add(vehicle, at: now) }
            guard vehicles.count == Self.page, let end = vehicles.last?.id else { break }
            last = end
        }
        return Result(groups: groups, time: time)
    }
}
