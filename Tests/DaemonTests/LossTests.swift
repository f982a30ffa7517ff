import Glibc
import Storage
import Support
import Synchronization
import Testing

@testable import Daemon

@Suite("what is told of losses")
struct LossTests {
    private var watch = LossWatch()

    @Test("at once when it begins, and then once an hour with what has come since")
    mutating func hourly() {
        #expect(watch.look(Losses(), now: instant(0)) == [])
        #expect(watch.latest == nil && watch.deadline == nil)
        #expect(watch.look(Losses(dropped: 1), now: instant(10)) == [.lost(dropped: 1, refused: 0)])
        #expect(watch.deadline == nil && watch.rest == nil)
        for second in 11..<3000 {
            #expect(watch.look(Losses(dropped: 2), now: instant(Double(second))) == [])
        }
        #expect(watch.deadline == instant(3610))
        #expect(watch.rest == .lost(dropped: 5978, refused: 0))
        #expect(watch.look(Losses(refused: 4), now: instant(3609)) == [])
        #expect(watch.look(Losses(), now: instant(3610)) == [.lost(dropped: 5978, refused: 4)])
        #expect(watch.latest == instant(3609))
        #expect(watch.deadline == nil)
        // Long afterwards it is news again.
        #expect(watch.look(Losses(dropped: 1), now: instant(9e4)) == [.lost(dropped: 1, refused: 0)])
    }

    @Test("ordinary pruning is no loss, and told once a day")
    mutating func pruning() {
        #expect(watch.look(Losses(pruned: 3), now: instant(0)) == [.pruned(3)])
        #expect(watch.look(Losses(pruned: 3), now: instant(80_000)) == [])
        #expect(watch.look(Losses(pruned: 1), now: instant(86_400)) == [.pruned(4)])
        #expect(watch.latest == nil && watch.deadline == nil && watch.rest == nil)
    }

    @Test("expired dead letters have a line of their own elsewhere, and count as a loss")
    mutating func expiry() {
        #expect(watch.look(Losses(expired: 3), now: instant(5)) == [])
        #expect(watch.latest == instant(5) && watch.deadline == nil && watch.rest == nil)
    }
}

@Suite("a start that takes long")
struct LongStartTests {
    private final class Shared: Sendable {
        let work = Atomic(0)
        let asked = Atomic(0)
        let looks = Atomic(0)
    }

    private func until(_ condition: () -> Bool) -> Bool {
        wait(upTo: 30) {
            _ = poll(nil, 0, 1)
            return condition()
        }
    }

    @Test("more time is asked for while work is done, and not while nothing moves")
    func asks() throws {
        let shared = Shared()
        let start = try #require(
            LongStart(every: 0.005) {
                shared.looks.add(1, ordering: .relaxed)
                return .init(cpuSeconds: Double(shared.work.load(ordering: .relaxed)), blocks: 0)
            } extend: {
                shared.asked.add(1, ordering: .relaxed)
            })
        defer { start.end() }
        #expect(until { shared.looks.load(ordering: .relaxed) > 3 })
        #expect(shared.asked.load(ordering: .relaxed) == 0)
        shared.work.add(1, ordering: .relaxed)
        #expect(until { shared.asked.load(ordering: .relaxed) == 1 })
    }

    @Test("time on the processor is progress, and so is what is read")
    func progress() {
        let idle = LongStart.Usage(cpuSeconds: 1, blocks: 7)
        #expect(!LongStart.Usage(cpuSeconds: 1.001, blocks: 7).isProgress(since: idle))
        #expect(LongStart.Usage(cpuSeconds: 1.1, blocks: 7).isProgress(since: idle))
        #expect(LongStart.Usage(cpuSeconds: 1, blocks: 8).isProgress(since: idle))
    }
}
