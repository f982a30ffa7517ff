import Support
import Testing

@testable import Upload

/// What the schedule is in, and how it got there.
private enum Condition: String, CaseIterable, CustomTestStringConvertible {
    case fresh, drained, serverError, networkError, askedToWait, auth, permanent, rejected

    var testDescription: String { rawValue }

    /// A schedule in this state, the next round of which is far away; in back-off the delay has reached its limit.
    func rig(seed: UInt64 = 3) -> Rig {
        var rig = Rig(interval: 1e6, seed: seed)
        for _ in 0..<8 {
            switch self {
            case .fresh: break
            case .drained: rig.drain(.drained)
            case .serverError: rig.drain(.transient(isNetwork: false, retryAfter: nil))
            case .networkError: rig.drain(.transient(isNetwork: true, retryAfter: nil))
            case .askedToWait: rig.drain(.transient(isNetwork: false, retryAfter: 900))
            case .auth: rig.drain(.failed(.auth))
            case .permanent: rig.drain(.failed(.permanent))
            case .rejected: rig.drain(.failed(.rejected))
            }
        }
        return rig
    }

    /// Which triggers start a drain early. A command always does.
    var hears: [DrainTrigger] {
        switch self {
        case .fresh, .drained:
            [
                .sessionStopped, .ignitionOff, .threshold, .motion, .geofence, .started,
                .networkReturned(outage: 20),
            ]
        case .serverError: [.sessionStopped]
        case .networkError: [.sessionStopped, .networkReturned(outage: 20)]
        case .askedToWait, .auth, .permanent, .rejected: []
        }
    }
}

@Suite("which trigger is heard in which state")
struct StateTests {
    private static let triggers: [DrainTrigger] = [
        .sessionStopped, .ignitionOff, .threshold, .motion, .geofence, .started,
        .networkReturned(outage: 20),
    ]

    @Test("every trigger in every state", arguments: Condition.allCases)
    private func matrix(condition: Condition) throws {
        for trigger in Self.triggers {
            var rig = condition.rig()
            let before = rig.schedule.due
            rig.trigger(trigger)
            let (due, old) = (try #require(rig.schedule.due), try #require(before))
            let isSooner = due < old
            #expect(isSooner == condition.hears.contains(trigger), "\(trigger)")
            #expect(rig.wait <= 30 || rig.schedule.due == before, "\(trigger)")
        }
    }

    @Test("a command starts a drain at once in every state, and only one", arguments: Condition.allCases)
    private func command(condition: Condition) {
        var rig = condition.rig()
        rig.trigger(.command)
        rig.trigger(.command)
        #expect(rig.wait == 0)
        rig.drain(.transient(isNetwork: false, retryAfter: 50))
        #expect(rig.wait >= 50)
    }

    @Test("so does a change of the settings", arguments: Condition.allCases)
    private func change(condition: Condition) {
        var rig = condition.rig()
        rig.trigger(.change)
        #expect(rig.wait == 0)
    }

    @Test("a command that comes during a drain gets one of its own, however the drain ends")
    func commandDuringDrain() {
        for outcome in [
            DrainOutcome.drained, .failed(.auth), .transient(isNetwork: true, retryAfter: nil),
            .transient(isNetwork: false, retryAfter: 3600),
        ] {
            var rig = Rig(interval: 1e6)
            rig.drain(outcome, lasting: 5, hearing: .command)
            #expect(rig.wait == 0)
        }
    }

    @Test("a stop that comes during a drain is served by it, unless rows may have come since")
    func stopDuringDrain() {
        var rig = Rig(interval: 1e6)
        rig.drain(.drained, lasting: 5, hearing: .sessionStopped)
        #expect(rig.wait == 0)
        rig = Rig(interval: 1e6)
        rig.drain(.transient(isNetwork: false, retryAfter: 100), lasting: 5, hearing: .sessionStopped)
        #expect(rig.wait >= 100)
    }

    @Test("the earliest of several triggers counts, and a round that comes sooner than all of them")
    func earliest() {
        for seed in UInt64(0)..<100 {
            var rig = Rig(interval: 1e6, seed: seed)
            rig.trigger(.networkReturned(outage: 1e4))
            let first = rig.wait
            rig.trigger(.started)
            #expect(rig.wait <= min(first, 30))
            rig.trigger(.networkReturned(outage: 1e4))
            rig.trigger(.threshold)
            #expect(rig.wait == 0)
            rig = Rig(interval: 1, seed: seed)
            rig.trigger(.networkReturned(outage: 1e4))
            #expect(rig.wait <= 1)
        }
    }

    @Test("the network's return never puts off a retry that is due sooner")
    func returnBeforeRetry() {
        for seed in UInt64(0)..<100 {
            var rig = Rig(interval: 1e6, seed: seed)
            rig.drain(.transient(isNetwork: true, retryAfter: nil))
            rig.trigger(.networkReturned(outage: 1e6))
            #expect(rig.wait <= 2)
        }
    }

    @Test("scheduled rounds do not break into back-off")
    func roundsInBackOff() {
        var rig = Rig(interval: 60)
        rig.drain(.transient(isNetwork: false, retryAfter: 3600))
        #expect((3599...3600).contains(rig.wait))
    }

    @Test("a stop during back-off gets its attempt; if that fails too, the back-off grows on")
    func stopInBackOff() {
        var rig = Rig(interval: 1e6)
        for _ in 0..<4 { rig.drain(.transient(isNetwork: false, retryAfter: nil)) }
        rig.trigger(.sessionStopped)
        #expect(rig.wait == 0)
        rig.drain(.transient(isNetwork: false, retryAfter: nil))
        #expect((16...32).contains(rig.wait))
        #expect(rig.schedule.retries == 4)
    }

    @Test("Retry-After binds only when it is longer than the back-off")
    func shortRetryAfter() throws {
        var rig = Rig(interval: 1e6)
        for _ in 0..<12 { rig.drain(.transient(isNetwork: false, retryAfter: nil)) }
        let delay = rig.drain(.transient(isNetwork: false, retryAfter: 1))
        #expect((300...600).contains(try #require(delay)))
    }

    @Test("back-off delays are uniform in their range", arguments: [(0, 2.0), (3, 16.0), (20, 600.0)])
    func uniform(failures: Int, ceiling: Double) throws {
        let delays = try (0..<2000).map { seed in
            var rig = Rig(interval: 1e6, seed: UInt64(seed))
            for _ in 0..<failures { rig.drain(.transient(isNetwork: true, retryAfter: nil)) }
            let delay = rig.drain(.transient(isNetwork: true, retryAfter: nil))
            return try #require(delay)
        }
        #expect(delays.allSatisfy { (ceiling / 2...ceiling).contains($0) })
        var quarters = [0, 0, 0, 0]
        for delay in delays { quarters[min(3, Int((delay / ceiling - 0.5) * 8))] += 1 }
        // Five standard deviations of a binomial: 500 ± 97.
        #expect(quarters.allSatisfy { (403...597).contains($0) }, "\(quarters)")
    }

    @Test("a failure that waiting will not mend waits for the round, and forgets the back-off")
    func failedThenTransient() throws {
        var rig = Rig(interval: 300)
        for _ in 0..<10 { rig.drain(.transient(isNetwork: false, retryAfter: nil)) }
        rig.drain(.failed(.permanent))
        #expect(rig.wait <= 330)
        rig.sleep()
        let delay = rig.drain(.transient(isNetwork: false, retryAfter: nil))
        #expect((1...2).contains(try #require(delay)))
        #expect(rig.schedule.failure == nil)
    }

    @Test("another interval begins a round of it, at a random moment; the same one changes nothing")
    func newInterval() {
        var waits: [Double] = []
        for seed in 0..<100 {
            var rig = Rig(interval: 31_536_000, seed: UInt64(seed))
            let before = rig.schedule.due
            rig.change(interval: 31_536_000)
            #expect(rig.schedule.due == before)
            rig.change(interval: 60)
            waits.append(rig.wait)
            rig.sleep()
            rig.drain(.drained)
            #expect((54...66).contains(rig.wait))
        }
        #expect(waits.allSatisfy { (0...60).contains($0) })
        #expect(waits.contains { $0 < 10 } && waits.contains { $0 > 50 })
    }
}
