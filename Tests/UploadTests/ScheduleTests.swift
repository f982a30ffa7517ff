import Support
import Testing

@testable import Upload

@Suite("when the uploader tries") struct ScheduleTests {
    private static let network = DrainOutcome.transient(isNetwork: true, retryAfter: nil)
    private static let server = DrainOutcome.transient(isNetwork: false, retryAfter: nil)
    private static let asked = DrainOutcome.transient(isNetwork: false, retryAfter: 600)

    @Test("the first round ends at a random moment, later ones within a tenth of the interval") func rounds()
    {
        var firsts: [Double] = []
        for seed in 0..<200 {
            var rig = Rig(seed: UInt64(seed))
            firsts.append(rig.wait)
            for _ in 0..<5 {
                rig.sleep()
                rig.drain(.drained)
                #expect((270...300).contains(rig.wait))
            }
        }
        #expect(firsts.allSatisfy { (0...300).contains($0) })
        #expect(firsts.filter { $0 < 75 }.count > 25 && firsts.filter { $0 > 225 }.count > 25)
    }

    @Test(
        "back-off: uniform in the upper half of min(300, 2 · 2ⁿ), and from the start again once all is sent")
    func backOff() throws {
        for seed in 0..<100 {
            var rig = Rig(interval: 1e6, seed: UInt64(seed))
            for failures in 0..<12 {
                let retry = rig.drain(Self.server)
                let delay = try #require(retry)
                let ceiling = min(300, 2 * Double(1 << failures))
                #expect((ceiling / 2...ceiling).contains(delay))
                #expect(abs(rig.wait - delay) < 1e-5)
                rig.sleep()
            }
            rig.drain(.drained)
            let retry = rig.drain(Self.network)
            #expect((1...2).contains(try #require(retry)))
            #expect(rig.schedule.retries == 12)
        }
    }

    /// Whether the trigger makes a drain due within ten seconds, after a drain that ended so (nil: none has failed).
    @Test(
        "who may interrupt what",
        arguments: [
            (nil, .command, true), (nil, .sessionStopped, true), (nil, .threshold, true),
            (nil, .networkReturned(outage: 20), true),
            (Self.server, .command, true), (Self.server, .sessionStopped, true),
            (Self.server, .threshold, false),
            (Self.server, .networkReturned(outage: 20), false),
            (Self.network, .command, true), (Self.network, .sessionStopped, true),
            (Self.network, .threshold, false),
            (Self.network, .networkReturned(outage: 20), true),
            (Self.asked, .command, true), (Self.asked, .sessionStopped, false),
            (Self.asked, .threshold, false),
            (Self.asked, .networkReturned(outage: 20), false),
            (.failed(.auth), .command, true), (.failed(.auth), .sessionStopped, false),
            (.failed(.permanent), .threshold, false), (.failed(.permanent), .command, true),
            (.failed(.rejected), .networkReturned(outage: 20), false), (.failed(.rejected), .command, true),
        ] as [(DrainOutcome?, DrainTrigger, Bool)])
    func interruption(outcome: DrainOutcome?, trigger: DrainTrigger, isHeard: Bool) {
        var rig = Rig(interval: 1e6, seed: 3)
        if let outcome {
            // Enough failures that the delay itself is longer than what is asked about.
            for _ in 0..<8 { rig.drain(outcome) }
        }
        #expect(rig.wait > 10)
        rig.trigger(trigger)
        #expect((rig.wait <= 10) == isHeard)
    }

    @Test("a server that asks for an hour gets it, one that asks for a year does not")
    func retryAfter() {
        var rig = Rig(interval: 1e6)
        let delay = rig.drain(.transient(isNetwork: false, retryAfter: 3600))
        #expect(delay == 3600)
        #expect(abs(rig.wait - 3600) < 1e-6)
    }

    @Test("after a failure that waiting will not mend, the schedule goes on") func failed() {
        var rig = Rig(interval: 300)
        rig.sleep()
        let delay = rig.drain(.failed(.permanent))
        #expect(delay == nil)
        #expect(rig.schedule.failure == .permanent)
        #expect((270...300).contains(rig.wait))
        rig.drain(.drained)
        #expect(rig.schedule.failure == nil)
    }

    @Test("the network's return: at a random moment within half the outage, 10 to 300 seconds")
    func networkReturn() {
        for (outage, most) in [(1.0, 10.0), (100, 50), (86_400, 300)] {
            let waits = (0..<300).map { seed in
                var rig = Rig(interval: 1e6, seed: UInt64(seed))
                rig.trigger(.networkReturned(outage: outage))
                return rig.wait
            }
            #expect(waits.allSatisfy { $0 <= most })
            #expect(waits.contains { $0 > most * 0.9 } && waits.contains { $0 < most * 0.1 })
        }
    }

    @Test("a start with fixes pending tries within half a minute") func start() {
        for seed in 0..<50 {
            var rig = Rig(interval: 1e6, seed: UInt64(seed))
            rig.trigger(.started)
            #expect(rig.wait <= 30)
        }
    }
}
