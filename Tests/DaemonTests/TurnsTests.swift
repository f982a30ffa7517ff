import Base
import Linux
import Testing

@testable import Daemon

/// Turns that last longer than what they want to rest for.
private final class SlowTurns: Turns {
    static let seconds = 0.01

    /// Seconds from the end of a turn to the next.
    private(set) var pauses: [Double] = []
    private var ended: BootInstant?

    func turn(now: BootInstant, stopwatch: Stopwatch, after _: Rest) -> Rest? {
        if let ended { pauses.append(now.seconds(since: ended)) }
        guard pauses.count < 100, pauses.last ?? .infinity >= Self.seconds else { return nil }
        while stopwatch.elapsed < Self.seconds {}
        ended = .current()
        return Rest(until: now.advanced(bySeconds: Self.seconds))
    }

    func publish(now: BootInstant) {}
    func answer() {}
}

@Suite("turn by turn")
struct TurnsTests {
    @Test("what comes due while a turn lasts is done at once after it: a slow disk delays it no further")
    func overdue() {
        let turns = SlowTurns()
        turns.run(WallClock())
        // A busy machine may hold up any of them, but not all.
        #expect(turns.pauses.contains { $0 < SlowTurns.seconds })
    }
}
