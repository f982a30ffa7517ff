import Base
import Support
import Testing

@testable import Tracking

/// One fix: its own time and the time of its arrival, in seconds from a common start.
private struct Step {
    var time: Double
    var now: Double
    var mode = 3
}

private let unknownClock = ReceiverTime.SystemClock(time: Timestamp(milliseconds: 0), isKnownGood: false)

private func goodClock(_ seconds: Double) -> ReceiverTime.SystemClock {
    ReceiverTime.SystemClock(
        time: Timestamp(milliseconds: start).advanced(bySeconds: seconds), isKnownGood: true)
}

private func boot(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 1_000_000_000_000).advanced(bySeconds: seconds)
}

extension ReceiverTime {
    /// The position, counted from 1, of the first settled fix; nil when none settles.
    fileprivate mutating func settles(_ steps: [Step]) -> Int? {
        var first: Int?
        for (index, step) in steps.enumerated() {
            let verdict = judge(
                fix(at: step.time, mode: step.mode), now: boot(step.now), systemClock: unknownClock)
            if case .settled = verdict, first == nil { first = index + 1 }
        }
        return first
    }
}

/// `count` fixes, `step` seconds apart by the receiver's clock and `now` seconds apart by ours.
private func row(_ count: Int, every step: Double, now: Double? = nil, mode: Int = 3, from: Double = 0)
    -> [Step]
{
    (0..<count).map {
        Step(time: from + Double($0) * step, now: from + Double($0) * (now ?? step), mode: mode)
    }
}

/// One fix a second, with these modes.
private func mixed(_ modes: [Int]) -> [Step] {
    modes.enumerated().map { Step(time: Double($0.offset), now: Double($0.offset), mode: $0.element) }
}

@Test(
    "how many fixes it takes until a time is believed",
    arguments: [
        ("three with mode 3", row(3, every: 1), 3),
        ("five with mode 2", row(5, every: 1, mode: 2), 5),
        ("not four with mode 2", row(4, every: 1, mode: 2), nil),
        ("three that span 2 s at 10 Hz", row(30, every: 0.1), 21),
        ("as many of mode 2 as span 2 s at 10 Hz", row(30, every: 0.1, mode: 2), 21),
        ("a slow receiver", row(3, every: 10), 3),
        ("a replay ten times as fast, 1 Hz", row(3, every: 1, now: 0.1), 3),
        ("a replay ten times as fast, 10 Hz", row(30, every: 0.1, now: 0.01), 21),
        ("a replay that outruns the tolerance", row(30, every: 2, now: 0.2), nil),
        ("a receiver half as fast as the clock by 1.4 s a step", row(5, every: 1, now: 2.4), 3),
        ("a receiver that lags 1.6 s a step", row(30, every: 1, now: 2.6), nil),
        ("a receiver that stands still", row(30, every: 0, now: 1), nil),
        ("a receiver that runs backwards", row(30, every: -1, now: 1), nil),
        ("mode 2 between, five in all", mixed([3, 3, 2, 3, 3, 2]), 5),
        ("mode 2 before", mixed([2, 3, 3, 3]), 4),
        (
            "a jump between",
            row(2, every: 1) + row(3, every: 1, from: 100).map { Step(time: $0.time, now: $0.now - 90) },
            5
        ),
    ] as [(String, [Step], Int?)])
private func settling(name: String, steps: [Step], expected: Int?) {
    var receiver = ReceiverTime()
    #expect(receiver.settles(steps) == expected, "\(name)")
    #expect(receiver.isSettled == (expected != nil))
}

private func settled(isReplay: Bool = false) -> ReceiverTime {
    var receiver = ReceiverTime(isReplay: isReplay)
    _ = receiver.settles(row(3, every: 1))
    return receiver
}

@Test("an epoch without a fix restarts the count, but does not unsettle")
func noFixBetween() {
    var receiver = ReceiverTime()
    _ = receiver.settles(row(2, every: 1))
    receiver.noFix()
    #expect(receiver.settles(row(3, every: 1, from: 2)) == 3)
    receiver.noFix()
    #expect(receiver.isSettled)
}

@Test("after a reconnection or a change of receiver, time has to settle again")
func unsettled() {
    var receiver = settled()
    #expect(receiver.settledSince == boot(2))
    receiver.unsettle()
    #expect(!receiver.isSettled)
    #expect(receiver.settledSince == nil)
    #expect(receiver.settles(row(3, every: 1, from: 3)) == 3)
}

@Test(
    "steps that a settled time does or does not survive",
    arguments: [
        (time: 3.0, now: 3.0, isSettled: true),
        (time: 2.001, now: 3.0, isSettled: true),
        (time: -61.0, now: 3.0, isSettled: false),
        (time: -1e6, now: 3.0, isSettled: false),
        (time: 3602.9, now: 3.0, isSettled: true),
        (time: 3603.1, now: 3.0, isSettled: false),
        // A long gap is not a step: our clock has advanced as well.
        (time: 90_000.0, now: 90_000.0, isSettled: true),
        (time: 10.0, now: 90_000.0, isSettled: true),
    ] as [(time: Double, now: Double, isSettled: Bool)])
func steps(time: Double, now: Double, isSettled: Bool) {
    var receiver = settled()
    let verdict = receiver.judge(fix(at: time), now: boot(now), systemClock: unknownClock)
    #expect(verdict == (isSettled ? .settled(fix(at: time), after: []) : .unsettled))
    #expect(receiver.isSettled == isSettled)
    // It settles again by the same rule, starting from this fix.
    if !isSettled {
        let next = receiver.judge(fix(at: time + 1), now: boot(now + 1), systemClock: unknownClock)
        #expect(next == .unsettled)
        #expect(
            receiver.judge(fix(at: time + 2), now: boot(now + 2), systemClock: unknownClock)
                == .settled(
                    fix(at: time + 2),
                    after: [0, 1].map { .init(fix: fix(at: time + $0), now: boot(now + $0)) }))
        #expect(receiver.run == (time < 0 ? 1 : 0))
        #expect(receiver.settledSince == boot(now + 2))
    }
}

private let period = 1024.0 * 7 * 86_400

@Test("week rollovers are corrected", arguments: [1.0, 2.0])
func rollover(periods: Double) {
    var receiver = ReceiverTime()
    for index in 0..<3 {
        let seconds = Double(index)
        let verdict = receiver.judge(
            fix(at: seconds - periods * period), now: boot(seconds), systemClock: goodClock(seconds))
        let before = [0.0, 1].map { ReceiverTime.Arrival(fix: fix(at: $0), now: boot($0)) }
        #expect(verdict == (index < 2 ? .unsettled : .settled(fix(at: seconds), after: before)))
    }
    #expect(receiver.rollovers == 3)
    #expect(receiver.refusals == 0)
}

@Test("only times before the release date, less 30 days, have rolled over")
func rolloverLimit() {
    let limit = ReceiverTime.earliest.seconds(since: Timestamp(milliseconds: start))
    #expect(ReceiverTime.earliest.iso8601 == "2026-10-02T00:00:00.000Z")
    var receiver = ReceiverTime()
    #expect(receiver.settles(row(3, every: 1, from: limit)) == 3)
    #expect(receiver.rollovers == 0)
    _ = receiver.judge(fix(at: limit - 0.001), now: boot(3), systemClock: unknownClock)
    #expect(receiver.rollovers == 1)
}

@Test("a corrected time that a known-good clock contradicts is refused", arguments: [-1.0, 1.0])
func rolloverRefused(direction: Double) {
    var receiver = ReceiverTime()
    let clock = goodClock(direction * 86_401)
    let verdict = receiver.judge(fix(at: -period), now: boot(0), systemClock: clock)
    #expect(verdict == .refused)
    #expect(receiver.refusals == 1)
    let close = goodClock(direction * 86_399)
    #expect(receiver.judge(fix(at: -period), now: boot(1), systemClock: close) == .unsettled)
}

@Test("a time more than a day ahead of a known-good clock is refused; any other clock is ignored")
func future() {
    var receiver = ReceiverTime()
    #expect(receiver.judge(fix(at: 86_401), now: boot(0), systemClock: goodClock(0)) == .refused)
    #expect(receiver.refusals == 1)
    #expect(receiver.judge(fix(at: 86_400), now: boot(1), systemClock: goodClock(0)) == .unsettled)
    #expect(receiver.judge(fix(at: 86_401), now: boot(2), systemClock: unknownClock) == .unsettled)
    // Late fixes are legitimate.
    var late = ReceiverTime()
    #expect(late.judge(fix(at: 0), now: boot(0), systemClock: goodClock(30 * 86_400)) == .unsettled)
    #expect(late.refusals == 0)
}

@Test("a refused fix does not disturb a settled time")
func refusalLeavesSettled() {
    var receiver = settled()
    #expect(receiver.judge(fix(at: 1e7), now: boot(3), systemClock: goodClock(3)) == .refused)
    #expect(
        receiver.judge(fix(at: 4), now: boot(4), systemClock: goodClock(4)) == .settled(fix(at: 4), after: [])
    )
}

@Test("a replay of a recording is neither corrected nor refused")
func replay() {
    var receiver = ReceiverTime(isReplay: true)
    for index in 0..<3 {
        let old = fix(at: Double(index) - period)
        let verdict = receiver.judge(old, now: boot(Double(index)), systemClock: goodClock(0))
        if index < 2 { #expect(verdict == .unsettled) }
        if index == 2, case .settled(let fix, let before) = verdict {
            #expect(fix == old && before.count == 2)
        }
    }
    var ahead = ReceiverTime(isReplay: true)
    #expect(ahead.judge(fix(at: 1e8), now: boot(0), systemClock: goodClock(0)) == .unsettled)
    #expect(receiver.rollovers == 0 && ahead.refusals == 0)
}
