import Base
import Testing

@testable import Tracking

@Suite("when batteries are read")
struct BatteryWatchTests {
    private let half = Battery(percent: 50, state: .full)

    @Test("it is read once a minute at most, also where there is none")
    func onceAMinute() {
        for battery in [half, nil] {
            var watch = BatteryWatch()
            var readings = 0
            for tenth in 0..<1201 {
                let now = booted(Double(tenth) / 10)
                switch watch.ask(notOlderThan: BatteryWatch.interval, patience: 0.1, now: now) {
                case .take(let found): #expect(found == battery)
                case .read:
                    readings += 1
                    watch.end(with: battery, now: now)
                    #expect(watch.latest(now: now) == battery)
                case .wait: Issue.record("nobody reads it")
                }
            }
            // At 0, 60 and 120 s.
            #expect(readings == 3)
        }
    }

    @Test("for a heartbeat it is read anew")
    func anew() {
        var watch = BatteryWatch()
        for second in 0..<3 {
            #expect(watch.ask(notOlderThan: 0, patience: 1, now: booted(Double(second))) == .read)
            watch.end(with: half, now: booted(Double(second)))
        }
    }

    @Test("one that does not answer is waited for as long as one asker has patience, and read by nobody else")
    func slow() {
        var watch = BatteryWatch()
        func ask(_ seconds: Double, patience: Double = 0.25) -> BatteryWatch.Advice {
            watch.ask(notOlderThan: BatteryWatch.interval, patience: patience, now: booted(seconds))
        }
        #expect(ask(0) == .read)
        watch.end(with: half, now: booted(0))
        #expect(ask(60) == .read)
        #expect(ask(60.125) == .wait(0.125))
        #expect(ask(60.125, patience: 1) == .wait(0.875))
        // What it said before is told for ten minutes.
        for second in [60.25, 61, 300, 599] { #expect(ask(second) == .take(half)) }
        for second in [600.0, 4000] { #expect(ask(second) == .take(nil)) }
        #expect(watch.latest(now: booted(4000)) == nil)
        // The answer is of when it was asked.
        watch.end(with: Battery(percent: 40, state: .full), now: booted(60))
        #expect(watch.latest(now: booted(4000)) == nil)
        #expect(ask(4000) == .read)
    }

    @Test("a reading that could not be begun changes nothing, and is tried again")
    func givenUp() {
        var watch = BatteryWatch()
        _ = watch.ask(notOlderThan: 60, patience: 1, now: booted(0))
        watch.end(with: half, now: booted(0))
        for second in [60.0, 61] {
            #expect(watch.ask(notOlderThan: 60, patience: 1, now: booted(second)) == .read)
            watch.giveUp()
            #expect(watch.latest(now: booted(second)) == half)
        }
    }
}
