internal import Base
internal import Tracking

/// Decides when the service manager's watchdog is fed: while every thread makes progress.
///
/// A thread that waits for the disk is slow, not dead: it counts as stuck after two minutes at one piece of work. Only then
/// does the manager's own timeout run out, which begins with the last feeding.
struct Watchdog {
    enum Action: Equatable {
        /// The time to feed has not come.
        case wait
        case feed
        /// Threads are stuck. Those that have become so since the last look are to be reported.
        case starve(report: [String])
    }

    /// Seconds that a thread may spend on one piece of work.
    static let stuckAfter = 120.0

    /// When to look next.
    private(set) var next: BootInstant
    /// Seconds.
    private let interval: Double
    private var reported: Set<String> = []

    /// - Parameter timeout: the manager's, in seconds; it is fed three times as often.
    init(timeout: Double, now: BootInstant) {
        interval = timeout / 3
        next = now.advanced(bySeconds: interval)
    }

    /// - Parameter busy: how many seconds each thread has been at the same piece of work.
    mutating func look(now: BootInstant, busy: [(name: String, seconds: Double)]) -> Action {
        guard now >= next else { return .wait }
        // The machine was suspended, which is not the threads' fault: they have until the next look.
        let hasSlept = now.seconds(since: next) > interval
        next = now.advanced(bySeconds: interval)
        let stuck = busy.filter { $0.seconds > Self.stuckAfter }.map(\.name)
        if stuck.isEmpty || hasSlept {
            reported = []
            return .feed
        }
        let new = stuck.filter { !reported.contains($0) }
        reported = Set(stuck)
        return .starve(report: new)
    }
}

/// For how long threads have been at the same piece of work. While one salvages a damaged database, for which the others wait, each
/// piece of that is one.
struct WorkWatch {
    /// How far a salvage was at the last look, and when it had come further.
    private var salvaged = 0
    private var advancedAt: BootInstant?

    /// - Parameter salvaged: pieces of the database so far.
    mutating func busy(
        _ threads: [(name: String, work: Work)], salvaged: Int, now: BootInstant
    ) -> [(name: String, seconds: Double)] {
        if salvaged != self.salvaged { (self.salvaged, advancedAt) = (salvaged, now) }
        let quiet = advancedAt.map { now.seconds(since: $0) } ?? .infinity
        return threads.map { ($0.name, min($0.work.busyFor(now), quiet)) }
    }
}
