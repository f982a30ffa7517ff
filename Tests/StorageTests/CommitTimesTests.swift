import Base
import Support
import Testing

@testable import Storage

@Suite("how long commits take")
struct CommitTimesTests {
    @Test(
        "each is counted once, where its bound is the first that is not exceeded",
        arguments: [
            (0 as Int64, 0), (1_000_000, 0), (1_000_001, 1), (2_500_000, 1), (10_000_000_000, 12),
            (10_000_000_001, 13), (.max, 13), (-5, 0),
        ])
    func places(nanoseconds: Int64, place: Int) {
        let times = CommitTimes()
        times.add(nanoseconds: nanoseconds)
        var expected = [Int](repeating: 0, count: CommitTimes.bounds.count + 1)
        expected[place] = 1
        #expect(times.snapshot().counts == expected)
        #expect(times.snapshot().seconds == Double(nanoseconds) / 1e9)
    }

    @Test("they add up, and a snapshot stays what it was")
    func adding() {
        let times = CommitTimes()
        times.add(nanoseconds: 3_000_000)
        let before = times.snapshot()
        for _ in 0..<1000 { times.add(nanoseconds: 1_000_000_000) }
        #expect(before.counts.reduce(0, +) == 1)
        #expect(times.snapshot().counts.reduce(0, +) == 1001)
        #expect(abs(times.snapshot().seconds - 1000.003) < 1e-6)
    }
}
