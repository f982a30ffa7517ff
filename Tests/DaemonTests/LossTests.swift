import Glibc
import Storage
import Support
import Synchronization
import Testing

@testable import Daemon

@Suite("what is reported of losses")
struct LossTests {
    private var watch = LossWatch()

    @Test(
        "at once when it begins, and then once an hour with what has come since",
        arguments: [Losses(dropped: 1), Losses(pruned: 1), Losses(refused: 1)])
    mutating func hourly(one: Losses) {
        #expect(watch.observe(Losses(), now: instant(0)) == nil)
        #expect(watch.latest == nil && watch.deadline == nil)
        #expect(watch.observe(one, now: instant(10)) == one)
        #expect(watch.latest == instant(10))
        #expect(watch.deadline == nil && watch.rest == nil)
        for second in 11..<3000 { #expect(watch.observe(one + one, now: instant(Double(second))) == nil) }
        let sum = Losses(dropped: one.dropped * 5978, pruned: one.pruned * 5978, refused: one.refused * 5978)
        #expect(watch.deadline == instant(3610))
        #expect(watch.rest == sum)
        #expect(watch.observe(Losses(refused: 4), now: instant(3609)) == nil)
        #expect(watch.observe(Losses(), now: instant(3610)) == sum + Losses(refused: 4))
        #expect(watch.latest == instant(3609))
        #expect(watch.deadline == nil && watch.rest == nil)
        // Long afterwards it is news again.
        #expect(watch.observe(one, now: instant(9e4)) == one)
    }

    @Test("every rule in one line")
    mutating func together() {
        let all = Losses(dropped: 1, pruned: 2, refused: 3)
        #expect(watch.observe(all, now: instant(0)) == all)
        for hour in 1...30 {
            #expect(watch.observe(Losses(pruned: 1), now: instant(Double(hour) * 3600 - 1)) == nil)
            #expect(watch.observe(Losses(), now: instant(Double(hour) * 3600)) == Losses(pruned: 1))
        }
    }

    @Test("expired dead letters have a line of their own elsewhere, and count as a loss")
    mutating func expiry() {
        #expect(watch.observe(Losses(expired: 3), now: instant(5)) == nil)
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
            } terminate: {
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
