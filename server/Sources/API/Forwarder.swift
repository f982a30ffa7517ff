internal import Alerts
internal import Base
internal import Forwards
internal import Logging
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Forwards what is stored: to each target by itself, in the order in which it was committed, until the target has acknowledged it. What
/// waits is in the database; of several servers at one, one forwards to a target, and when it ends, another.
final class Forwarder: Service {
    /// What did not accept something.
    enum Place: Hashable {
        /// A target, everything.
        case target(String)
        /// A target, a batch, while it accepts others.
        case batch(String)
    }

    /// Batches of this server, since its start.
    struct Stored {
        var batches: UInt64 = 0
        var rows: UInt64 = 0
    }

    private struct State {
        var tally = DeliveryTally<Place>()
        var stored = Stored()
        var facts: [String: Outbox.Facts]?
        /// Until then they are good enough.
        var factsDue = ContinuousClock.now
    }

    /// What one target's task knows.
    private struct Work {
        var isMine = false
        var ownerDue = ContinuousClock.now
        var boundsDue = ContinuousClock.now
        var pause = ContinuousClock.now
        /// Attempts in a row that have failed.
        var failures: Int64 = 0
        /// What the database has as its trouble; nil: that is not known.
        var noted: String??
        /// How many of `warnings` have been told.
        var told = 0
    }

    private struct Line {
        let target: ForwardTarget
        let calls: AsyncStream<Void>
        let alarm: AsyncStream<Void>.Continuation
    }

    /// Between two looks for what another server has stored.
    private static let round = Duration.seconds(1)
    /// Between two looks whether another server forwards to a target.
    private static let ownership = Duration.seconds(5)
    /// Between two looks at all that waits, at least; and it takes at most a twentieth of the time.
    private static let look = Duration.seconds(5)
    private static let part = 20
    /// Parts of what may wait at which that is told, before anything is dropped.
    private static let warnings: [(percent: Int64, text: String)] = [(50, "half"), (90, "nine tenths")]

    private let store: Store
    private let clock: ClockKeeper
    private let retention: Int?
    /// What to look at when nothing is accepted.
    private let advice: String
    private let logger: Logger
    private let lines: [Line]
    private let state = Mutex(State())

    init(store: Store, clock: ClockKeeper, options: ServerOptions, logger: Logger) {
        self.store = store
        self.clock = clock
        retention = options.retentionDays
        advice =
            options.isConfined
            ? ". The service may not reach other machines; its drop-in alerts.conf opens the network" : ""
        self.logger = logger
        lines = options.forwards.map { target in
            let (calls, alarm) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
            return Line(target: target, calls: calls, alarm: alarm)
        }
        names = options.forwards.map(\.name)
    }

    var targets: [ForwardTarget] { lines.map(\.target) }

    /// Names of the targets.
    let names: [String]

    /// A batch with new rows was stored.
    func note(rows: Int) {
        state.withLock { state in
            state.stored.batches += 1
            state.stored.rows += UInt64(max(0, rows))
        }
        wake()
    }

    private func wake() { for line in lines { line.alarm.yield() } }

    var stored: Stored { state.withLock { $0.stored } }

    /// Attempts of this server.
    var tally: DeliveryTally<Place> { state.withLock { $0.tally } }

    func run() async throws {
        wake()
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                for line in lines { group.addTask { await self.serve(line) } }
                while !Task.isCancelled {
                    // Ends early with the server.
                    try? await Task.sleep(for: Self.round)
                    wake()
                }
                group.cancelAll()
            }
        }
    }

    private func serve(_ line: Line) async {
        let sender = Senders.make(line.target, userAgent: "beekon-server/\(ServerOptions.version)")
        var work = Work()
        await withTaskCancellationHandler {
            for await _ in line.calls {
                do {
                    while !Task.isCancelled, try await step(line.target, sender, &work) {}
                } catch {
                    work.isMine = false
                    work.ownerDue = ContinuousClock.now + Self.ownership
                    if !Task.isCancelled { logger.failure(error, of: "forward '\(line.target.name)'") }
                }
            }
        } onCancel: {
            sender.end()
        }
    }

    // MARK: One turn

    /// - Returns: whether there may be more to send.
    private func step(
        _ target: ForwardTarget, _ sender: any Sender, _ work: inout Work
    ) async throws -> Bool {
        let name = target.name
        if ContinuousClock.now >= work.ownerDue {
            work.isMine = try await store.lock { session throws(StoreError) in
                try Outbox.isMine(name, in: session)
            }
            work.ownerDue = ContinuousClock.now + Self.ownership
        }
        guard work.isMine else { return false }
        if ContinuousClock.now >= work.boundsDue { try await bound(target, &work) }
        guard ContinuousClock.now >= work.pause else { return false }
        let now = Responder.now
        let age = clock.age(now) ?? now
        let parcels = try await store.read { session throws(StoreError) in
            try Outbox.next(for: name, now: now, age: age, from: session)
        }
        guard !parcels.isEmpty else { return false }
        let outcomes = await sender.send(parcels)
        guard outcomes.count == parcels.count else { return false }
        return try await settle(
            target, zip(parcels, outcomes).map { (parcel: $0, outcome: $1) }, &work)
    }

    /// - Returns: whether there may be more to send.
    private func settle(
        _ target: ForwardTarget, _ sent: [(parcel: Outbox.Parcel, outcome: ForwardOutcome)],
        _ work: inout Work
    ) async throws -> Bool {
        let name = target.name
        var accepted: [Outbox.Key] = []
        var refused: [(key: Outbox.Key, due: Timestamp, reason: String)] = []
        var failure: String?
        var random = SystemRandomNumberGenerator()
        for (parcel, outcome) in sent {
            switch outcome {
            case .accepted: accepted.append(parcel.key)
            case .refused(let reason):
                let delay = BackOff.alerts.delay(after: parcel.attempts + 1, using: &random)
                refused.append((parcel.key, Responder.now.advanced(bySeconds: delay), reason))
            case .failed(let reason): failure = failure ?? reason
            case .open: break
            }
        }
        // Only now: until it is acknowledged, it waits.
        let (done, later) = (accepted, refused)
        if !done.isEmpty {
            try await store.write(isRepeatable: true) { session throws(StoreError) in
                try Outbox.acknowledge(done, of: name, in: session)
            }
        }
        if !later.isEmpty {
            try await store.write { session throws(StoreError) in
                try Outbox.postpone(later, in: session)
            }
            tellRefusals(target, later.map(\.reason))
        }
        if let failure {
            work.failures += 1
            let delay = BackOff.forwarding.delay(after: work.failures, using: &random)
            work.pause = ContinuousClock.now + .seconds(delay)
            try await tell(failure, of: target, &work)
            return false
        }
        work.failures = 0
        if !done.isEmpty { try await tellSuccess(target, done.count, &work) }
        return !done.isEmpty || !later.isEmpty
    }

    // MARK: What is told

    private func tellRefusals(_ target: ForwardTarget, _ reasons: [String]) {
        let isNew = state.withLock { state in
            reasons.map { state.tally.fail(.batch(target.name), $0) }.contains(true)
        }
        guard isNew, let reason = reasons.first else { return }
        logger.warning(
            "forward '\(target.name)': a batch is not accepted: \(reason); it is tried again until it is \(target.days(retention)) days old, and others go past it"
        )
    }

    private func tell(_ reason: String, of target: ForwardTarget, _ work: inout Work) async throws {
        let name = target.name
        if state.withLock({ $0.tally.fail(.target(name), reason) }) {
            logger.warning(
                "forward '\(name)': nothing is accepted: \(reason); what is stored waits up to \(target.days(retention)) days and is tried again\(advice)"
            )
        }
        guard work.noted != .some(reason) else { return }
        let now = clock.age(Responder.now) ?? Responder.now
        try await store.write { session throws(StoreError) in
            try Outbox.note(reason, of: name, now: now, in: session)
        }
        work.noted = .some(reason)
    }

    private func tellSuccess(_ target: ForwardTarget, _ count: Int, _ work: inout Work) async throws {
        let name = target.name
        if state.withLock({ $0.tally.accept(.target(name), count) }) {
            logger.warning("forward '\(name)': it accepts again")
        }
        guard work.noted != .some(nil) else { return }
        try await store.write { session throws(StoreError) in
            try Outbox.note(nil, of: name, now: Responder.now, in: session)
        }
        work.noted = .some(nil)
    }

    // MARK: Bounds

    /// What waits, by target, at most some seconds old.
    func facts() async throws -> [String: Outbox.Facts] {
        let known = state.withLock { state in state.factsDue > .now ? state.facts : nil }
        if let known { return known }
        let start = ContinuousClock.now
        let facts = try await store.read { session throws(StoreError) in try Outbox.facts(from: session) }
        state.withLock { state in
            state.facts = facts
            state.factsDue = ContinuousClock.now + max(Self.look, (ContinuousClock.now - start) * Self.part)
        }
        return facts
    }

    /// Seconds for which the oldest has waited.
    func waited(_ facts: Outbox.Facts) -> Double {
        let now = clock.age(Responder.now) ?? Responder.now
        return facts.since.map { max(0, now.seconds(since: $0)) } ?? 0
    }

    /// How much of what may wait does, in percent.
    func percent(of facts: Outbox.Facts, _ target: ForwardTarget) -> Int64 {
        target.percent(of: facts, age: clock.age(Responder.now), retention: retention)
    }

    /// Tells when much waits, and drops what is too much.
    private func bound(_ target: ForwardTarget, _ work: inout Work) async throws {
        let facts = try await facts()[target.name] ?? Outbox.Facts()
        work.boundsDue = state.withLock { $0.factsDue }
        if facts.refused == 0 { state.withLock { _ = $0.tally.accept(.batch(target.name), 0) } }
        let percent = percent(of: facts, target)
        let level = Self.warnings.count { percent >= $0.percent }
        if level > work.told {
            logger.warning(
                "forward '\(target.name)': \(Self.warnings[level - 1].text) of what may wait does: \(facts.waiting.batches) batches, \(facts.size) bytes, the oldest since \(facts.since?.iso8601 ?? "now"); beyond \(target.days(retention)) days or \(target.maxBytes) bytes the oldest are dropped"
            )
        }
        work.told = level
        guard percent >= 100 else { return }
        try await drop(target, excess: facts.size - target.maxBytes)
    }

    private func drop(_ target: ForwardTarget, excess: Int64) async throws {
        let limit = clock.age(Responder.now)?.advanced(
            bySeconds: -86_400 * Double(target.days(retention)))
        var excess = excess
        var (tooOld, tooMany) = (0, 0)
        defer {
            state.withLock { $0.facts = nil }
            if tooOld + tooMany > 0 {
                logger.error(
                    "forward '\(target.name)': dropped: \(tooOld) batches that were older than \(target.days(retention)) days, \(tooMany) because more than \(target.maxBytes) bytes waited"
                )
            }
        }
        while !Task.isCancelled {
            let bytes = excess
            let dropped = try await store.write { session throws(StoreError) in
                try Outbox.drop(of: target.name, before: limit, excess: bytes, in: session)
            }
            guard dropped.tooOld + dropped.tooMany > 0 else { return }
            tooOld += dropped.tooOld
            tooMany += dropped.tooMany
            excess -= dropped.bytes
        }
    }
}
