import Base
import Support

@testable import Upload

/// A schedule with its clock, in seconds since the boot.
struct Rig {
    var random: SeededGenerator
    var schedule: DrainSchedule
    var now = 1000.0

    init(interval: Double = 300, seed: UInt64 = 1) {
        self.init(DrainRules(interval: interval), seed: seed)
    }

    init(_ rules: DrainRules, seed: UInt64 = 1) {
        random = SeededGenerator(seed: seed)
        schedule = DrainSchedule(rules, now: Self.instant(1000), using: &random)
    }

    static func instant(_ seconds: Double) -> BootInstant {
        BootInstant(nanoseconds: Int64(seconds * 1e9))
    }

    /// Seconds from now; 0 when it is due already, infinite when only the user can make it so.
    var wait: Double { schedule.due.map { max(0, $0.seconds(since: Self.instant(now))) } ?? .infinity }

    mutating func trigger(_ trigger: DrainTrigger) {
        schedule.trigger(trigger, now: Self.instant(now), using: &random)
    }

    mutating func change(interval: Double) {
        change(DrainRules(interval: interval))
    }

    mutating func change(_ rules: DrainRules) {
        schedule.change(rules, now: Self.instant(now), using: &random)
    }

    /// Lets the time pass until a drain is due; a little more, because the clock counts whole nanoseconds.
    mutating func sleep() {
        now += wait + 1e-6
    }

    /// A drain now, with this outcome; gives the delay of the retry.
    @discardableResult
    mutating func drain(_ outcome: DrainOutcome) -> Double? {
        schedule.begin(now: Self.instant(now), using: &random)
        return schedule.end(outcome, now: Self.instant(now), using: &random)
    }

    /// A drain now that takes this long, with something that happens at its end.
    mutating func drain(_ outcome: DrainOutcome, lasting seconds: Double, hearing trigger: DrainTrigger) {
        schedule.begin(now: Self.instant(now), using: &random)
        now += seconds
        self.trigger(trigger)
        schedule.end(outcome, now: Self.instant(now), using: &random)
    }
}
