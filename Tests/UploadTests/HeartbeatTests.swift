import Base
import Support
import Testing

@testable import Upload

/// A vehicle that is parked: nothing is ever pending, and its uploader makes attempts as `Uploader` does.
private struct Parked {
    var random: SeededGenerator
    var schedule: DrainSchedule
    var heartbeat: Heartbeat
    var now = 1000.0
    /// When heartbeats were sent, in seconds since the boot.
    var sent: [Double] = []
    /// How often the uploader has woken.
    var wakeUps = 0

    init(heartbeat interval: Double, schedule rounds: Double = 300, seed: UInt64 = 1) {
        random = SeededGenerator(seed: seed)
        let now = Rig.instant(now)
        schedule = DrainSchedule(
            DrainRules(interval: rounds, heartbeat: interval), now: now, using: &random)
        heartbeat = Heartbeat(interval: interval, now: now, using: &random)
    }

    private var due: Double {
        let own = heartbeat.due.flatMap { schedule.admits($0) }
        let first = [schedule.due, own].compactMap(\.self).min()
        return first.map { max($0.seconds(since: Rig.instant(0)), now) } ?? .infinity
    }

    /// Lets the time pass until `end`; each heartbeat is answered by the moment at which it is sent.
    mutating func run(until end: Double, _ answer: (Double) -> DrainOutcome) {
        while due < end {
            now = due + 1e-6
            wakeUps += 1
            let instant = Rig.instant(now)
            schedule.begin(now: instant, using: &random)
            var outcome = DrainOutcome.drained
            if heartbeat.begin(now: instant) {
                heartbeat.attempted(now: instant, using: &random)
                sent.append(now)
                outcome = answer(now)
                if outcome == .drained { heartbeat.accepted() }
            }
            schedule.end(outcome, now: instant, using: &random)
        }
        now = end
    }

    /// Seconds between two heartbeats.
    var gaps: [Double] { zip(sent, sent.dropFirst()).map { $1 - $0 } }
}

@Suite("heartbeats")
struct HeartbeatTests {
    private static let boot = 1000.0
    private static let day = 86_400.0
    private static let server = DrainOutcome.transient(isNetwork: false, retryAfter: nil)

    @Test(
        "of a fleet, over days: up to a tenth early, never late, and spread", arguments: [60.0, 3600, 86_400])
    func fleet(interval: Double) {
        let (count, days) = (200, min(interval * 60 / Self.day, 20))
        var fleet = (0..<count).map { Parked(heartbeat: interval, seed: UInt64($0)) }
        for index in fleet.indices { fleet[index].run(until: Self.boot + days * Self.day) { _ in .drained } }
        let gaps = fleet.flatMap(\.gaps)
        #expect(gaps.allSatisfy { (0.9 * interval...interval + 1e-3).contains($0) })
        #expect(abs(gaps.reduce(0, +) / Double(gaps.count) - 0.95 * interval) < 0.01 * interval)
        // Those of the first round too: all were powered up at one moment.
        #expect(fleet.allSatisfy { ($0.sent.first ?? .infinity) - Self.boot <= interval + 1e-3 })
        for round in [0.0, days * Self.day - interval] {
            var tenths = [Int](repeating: 0, count: 10)
            for moment in fleet.flatMap(\.sent) {
                let part = (moment - Self.boot - round) / interval
                if (0..<1).contains(part) { tenths[Int(part * 10)] += 1 }
            }
            // 20 or 21 each, with a standard deviation of 4: a vehicle may have two in a round, at both its ends.
            #expect(tenths.allSatisfy { abs($0 - 21) < 19 }, "\(tenths)")
        }
        let least = gaps.min() ?? 0
        let most = gaps.max() ?? 0
        print(
            "\(count) vehicles, every \(Int(interval)) s, \(days) days: \(gaps.count) heartbeats, gaps \(least)…\(most) s"
        )
    }

    @Test("what is not configured costs nothing, and an hourly one a wake-up an hour")
    func cost() {
        func wakeUps(_ interval: Double) -> Int {
            var vehicle = Parked(heartbeat: interval)
            vehicle.run(until: Self.boot + 10 * Self.day) { _ in .drained }
            return vehicle.wakeUps
        }
        let (without, hourly) = (wakeUps(0), wakeUps(3600))
        print(
            "wake-ups of a parked vehicle's uploader in ten days: \(without), with an hourly heartbeat \(hourly)"
        )
        #expect(abs(Double(without) - 10 * Self.day / 285) < 50)
        #expect(abs(Double(hourly - without) - 10 * Self.day / 3420) < 30)
        var off = Parked(heartbeat: 0)
        #expect(off.heartbeat.due == nil)
        off.heartbeat.attempted(now: Rig.instant(2000), using: &off.random)
        #expect(off.heartbeat.due == nil)
        #expect(off.heartbeat.begin(now: Rig.instant(1e9)) == false)
    }

    @Test("a vehicle whose rows go out sends none")
    func moving() {
        var random = SeededGenerator(seed: 5)
        var heartbeat = Heartbeat(interval: 3600, now: Rig.instant(0), using: &random)
        heartbeat.attempted(now: Rig.instant(0), using: &random)
        for second in stride(from: 0.0, to: Self.day, by: 300) {
            #expect(heartbeat.begin(now: Rig.instant(second)) == false)
            heartbeat.attempted(now: Rig.instant(second), using: &random)
        }
    }

    @Test("in back-off it waits, and is owed: the retry is another one")
    func backOff() {
        var vehicle = Parked(heartbeat: 3600, schedule: 1e9)
        let back = Self.boot + 3600 + 7200
        vehicle.run(until: back + Self.day) { $0 < back ? Self.server : .drained }
        let failed = vehicle.sent.filter { $0 < back }
        let pauses = zip(failed, failed.dropFirst()).map { $1 - $0 }
        // Twice as long each time, in the upper half of 2, 4, … 600 s.
        for (index, pause) in pauses.enumerated() {
            let ceiling = min(600.0, 2 * Double(1 << min(index, 20)))
            #expect((ceiling / 2...ceiling + 1e-3).contains(pause))
        }
        #expect(failed.count > 20)
        let later = vehicle.sent.filter { $0 >= back }
        #expect((later.first ?? .infinity) - back <= 600)
        #expect(zip(later, later.dropFirst()).allSatisfy { (3240...3600.001).contains($1 - $0) })
    }

    @Test("under a Retry-After it waits as long as the server wants")
    func retryAfter() {
        var vehicle = Parked(heartbeat: 60)
        var isFirst = true
        vehicle.run(until: Self.boot + 4000) { _ in
            defer { isFirst = false }
            return isFirst ? .transient(isNetwork: false, retryAfter: 1800) : .drained
        }
        #expect((vehicle.gaps.first ?? 0) >= 1800)
        #expect(vehicle.gaps.dropFirst().allSatisfy { (54...60.001).contains($0) })
    }

    @Test("after a failure that waiting alone will not mend, it goes on the schedule")
    func failed() {
        var vehicle = Parked(heartbeat: 60, schedule: 300)
        vehicle.run(until: Self.boot + 6000) { _ in .failed(.auth) }
        #expect(vehicle.gaps.dropFirst().allSatisfy { (269.9...300.001).contains($0) }, "\(vehicle.gaps)")
        #expect(vehicle.gaps.count > 15)
    }

    @Test("where only the user starts uploads there is none")
    func manual() {
        var random = SeededGenerator(seed: 1)
        let schedule = DrainSchedule(
            DrainRules(interval: 300, isManual: true), now: Rig.instant(0), using: &random)
        #expect(schedule.admits(Rig.instant(5)) == nil)
    }

    @Test("refused for good, it pauses for a day, and another server is told at once")
    func pause() {
        var random = SeededGenerator(seed: 1)
        var heartbeat = Heartbeat(interval: 600, now: Rig.instant(0), using: &random)
        #expect(heartbeat.begin(now: Rig.instant(600)) == true)
        #expect(heartbeat.isOwed)
        heartbeat.attempted(now: Rig.instant(600), using: &random)
        heartbeat.refused(now: Rig.instant(601))
        #expect(!heartbeat.isOwed)
        #expect(heartbeat.pause(now: Rig.instant(602)) == Rig.instant(601 + Self.day))
        #expect(heartbeat.begin(now: Rig.instant(600 + Self.day)) == false)
        var other = heartbeat
        #expect(heartbeat.begin(now: Rig.instant(601 + Self.day)) == true)
        #expect(heartbeat.pause(now: Rig.instant(601 + Self.day)) == nil)
        other.serverChanged()
        #expect(other.pause(now: Rig.instant(602)) == nil)
        #expect(other.begin(now: Rig.instant(602)) == false)
        #expect(other.begin(now: Rig.instant(1201)) == true)
    }

    @Test("another interval begins at a random moment; the same one changes nothing")
    func change() {
        var firsts: [Double] = []
        for seed in 0..<100 {
            var random = SeededGenerator(seed: UInt64(seed))
            var heartbeat = Heartbeat(interval: 600, now: Rig.instant(0), using: &random)
            let before = heartbeat
            heartbeat.change(interval: 600, now: Rig.instant(100), using: &random)
            #expect(heartbeat == before)
            heartbeat.change(interval: 7200, now: Rig.instant(100), using: &random)
            firsts.append(heartbeat.due?.seconds(since: Rig.instant(100)) ?? -1)
            heartbeat.change(interval: 0, now: Rig.instant(100), using: &random)
            #expect(heartbeat.due == nil)
        }
        #expect(firsts.allSatisfy { (0...7200).contains($0) })
        #expect(firsts.contains { $0 < 1800 } && firsts.contains { $0 > 5400 })
    }

    @Test(
        "400, 413 and 422 are final for an envelope without rows, whatever else they are",
        arguments: [
            (200, false), (204, false), (301, false), (400, true), (401, false), (403, false), (404, false),
            (408, false), (413, true), (422, true), (429, false), (500, false),
        ])
    func refusals(status: Int, isFinal: Bool) {
        #expect(Judgement(status: status).refusesEnvelope == isFinal)
        // A server of others calls 400 permanent; a broker's codes are none of HTTP.
        var foreign = Judgement(status: status)
        if foreign.verdict == .rejected { foreign.verdict = .permanent }
        #expect(foreign.refusesEnvelope == isFinal)
        foreign.broker = MQTTAnswer(source: .puback, code: 135, version: .v5)
        #expect(!foreign.refusesEnvelope)
    }
}
