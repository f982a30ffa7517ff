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

    /// A fleet that is powered up at one moment. What counts is how many come in any stretch of time, whichever round it is of
    /// theirs: where a first round took up to the whole interval, half as many again came in the tenth before its end, from
    /// first rounds that were long and from second ones that were early.
    @Test("rounds are up to a tenth early, never late, evenly within that tenth, and a fleet stays spread")
    func spread() {
        let (count, rounds, interval) = (2000, 40, 300.0)
        var lengths: [Double] = []
        var moments: [Double] = []
        for seed in 0..<count {
            var rig = Rig(interval: interval, seed: UInt64(seed))
            let start = rig.now
            rig.sleep()
            moments.append(rig.now - start)
            for _ in 1...rounds {
                let began = rig.now
                rig.drain(.drained)
                rig.sleep()
                lengths.append(rig.now - began)
                moments.append(rig.now - start)
            }
        }
        // A server that forgets a TLS session after the interval still knows it. (The rig sleeps a microsecond longer.)
        #expect(lengths.allSatisfy { (0.9 * interval...interval + 1e-5).contains($0) })
        #expect(abs(lengths.reduce(0, +) / Double(lengths.count) - 0.95 * interval) < 0.1)
        let tenths = Self.counts(lengths, in: 0.9 * interval...interval)
        #expect(tenths.allSatisfy { abs(Double($0) / Double(lengths.count) - 0.1) < 0.005 })
        // Of 2,000 evenly spread, a tenth of an interval sees 211, with a standard deviation of 14.
        let expected = Double(count) * 0.1 / 0.95
        for start in stride(from: 0, to: 0.9 * interval * Double(rounds - 1), by: interval) {
            let stretch = moments.filter { (start..<start + interval).contains($0) }
            let tenths = Self.counts(stretch, in: start...start + interval)
            #expect(tenths.allSatisfy { abs(Double($0) - expected) < 70 }, "\(tenths) from \(start) s on")
        }
    }

    /// How many of the values are in each tenth of the range.
    private static func counts(_ values: [Double], in range: ClosedRange<Double>) -> [Int] {
        var counts = [Int](repeating: 0, count: 10)
        for value in values {
            let part = (value - range.lowerBound) / (range.upperBound - range.lowerBound)
            counts[min(max(Int(part * 10), 0), 9)] += 1
        }
        return counts
    }

    @Test(
        "back-off: uniform in the upper half of min(600, 2 · 2ⁿ), and from the start again once all is sent")
    func backOff() throws {
        for seed in 0..<100 {
            var rig = Rig(interval: 1e6, seed: UInt64(seed))
            for failures in 0..<12 {
                let retry = rig.drain(Self.server)
                let delay = try #require(retry)
                let ceiling = min(600, 2 * Double(1 << failures))
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
            (nil, .results, true), (Self.server, .results, false), (Self.asked, .results, false),
            (.failed(.auth), .results, false),
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
