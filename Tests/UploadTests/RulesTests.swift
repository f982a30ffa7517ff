import Support
import Testing

@testable import Upload

/// What an operator can change about when a destination is tried.
@Suite("the rules of a schedule")
struct RulesTests {
    private static let server = DrainOutcome.transient(isNetwork: false, retryAfter: nil)
    private static let network = DrainOutcome.transient(isNetwork: true, retryAfter: nil)
    private static let asked = DrainOutcome.transient(isNetwork: false, retryAfter: 600)
    private static let outcomes: [DrainOutcome] = [
        .drained, server, network, asked, .failed(.auth), .failed(.permanent), .failed(.rejected),
        .failed(.page),
    ]
    private static let automatic: [DrainTrigger] = [
        .change, .sessionStopped, .ignitionOff, .threshold, .motion, .geofence, .started,
        .networkReturned(outage: 20),
    ]

    // MARK: mode = "manual"

    @Test(
        "left to the user, nothing but a command starts a drain, after whatever outcome", arguments: outcomes)
    func manual(outcome: DrainOutcome) {
        var rig = Rig(DrainRules(interval: 60, isManual: true))
        for _ in 0..<3 {
            #expect(rig.wait == .infinity)
            for trigger in Self.automatic { rig.trigger(trigger) }
            rig.now += 1e6
            #expect(rig.wait == .infinity)
            rig.trigger(.command)
            #expect(rig.wait == 0)
            let delay = rig.drain(outcome)
            #expect(delay == nil, "no retry is promised")
        }
    }

    @Test("what came while it was left to the user does not start a drain afterwards, but the schedule does")
    func notManualAnyMore() {
        var rig = Rig(DrainRules(interval: 300, isManual: true))
        rig.drain(Self.server)
        rig.now += 1000
        rig.change(DrainRules(interval: 300))
        // The retry that was withheld is overdue.
        #expect(rig.wait == 0)
        rig.drain(.drained)
        #expect((1...300).contains(rig.wait))
    }

    // MARK: geofence_retry

    /// Whether a geofence event during this state makes an early attempt.
    @Test(
        "an event during back-off makes an early attempt, but for a Retry-After and failed states",
        arguments: [
            (server, true), (network, true), (asked, false), (.failed(.auth), false),
            (.failed(.permanent), false),
            (.failed(.rejected), false),
        ] as [(DrainOutcome, Bool)])
    func early(outcome: DrainOutcome, isHeard: Bool) {
        var rig = Rig(DrainRules(interval: 1e6, retriesForGeofences: true), seed: 3)
        for _ in 0..<8 { rig.drain(outcome) }
        let before = rig.wait
        #expect(before > 100)
        rig.trigger(.geofence)
        #expect(rig.wait == (isHeard ? 0 : before))
        // A drain that is not early is none of its business.
        var other = Rig(interval: 1e6, seed: 3)
        for _ in 0..<8 { other.drain(outcome) }
        other.trigger(.geofence)
        #expect(other.wait > 100)
    }

    @Test("one each 30 s at most, however many events; a later one is not forgotten")
    func pause() {
        var rig = Rig(DrainRules(interval: 1e6, retriesForGeofences: true), seed: 3)
        for _ in 0..<8 { rig.drain(Self.server) }
        var attempts: [Double] = []
        let end = rig.now + 100
        // An event each second, for a hundred seconds.
        while rig.now < end {
            rig.trigger(.geofence)
            if rig.wait == 0 {
                attempts.append(rig.now)
                rig.drain(Self.server)
            }
            rig.now += 1
        }
        #expect(attempts.map { ($0 - (attempts.first ?? 0)).rounded() } == [0, 30, 60, 90])
        // One event ten seconds after an attempt: what is left of the thirty.
        rig.now += 1000
        rig.drain(Self.server)
        rig.trigger(.geofence)
        rig.drain(Self.server)
        rig.now += 10
        rig.trigger(.geofence)
        #expect(abs(rig.wait - 20) < 1e-3)
    }

    @Test("the back-off goes on where it was, and its own attempt is not put off")
    func backOffGoesOn() throws {
        var rig = Rig(DrainRules(interval: 1e6, retriesForGeofences: true), seed: 3)
        for _ in 0..<3 { rig.drain(Self.server) }
        rig.trigger(.geofence)
        let retry = rig.drain(Self.server)
        let delay = try #require(retry)
        #expect((8...16).contains(delay))
        rig.trigger(.geofence)
        #expect(abs(rig.wait - delay) < 1e-3, "30 s would be later")
    }

    @Test("an event after a success is a trigger as ever")
    func ready() {
        var rig = Rig(DrainRules(interval: 1e6, retriesForGeofences: true))
        for _ in 0..<3 {
            rig.trigger(.geofence)
            #expect(rig.wait == 0)
            rig.drain(.drained)
        }
    }

    // MARK: deliver = "latest"

    @Test(
        "where only the newest location counts, each failure is followed by back-off, however short the interval",
        arguments: outcomes.filter { $0 != .drained && $0 != asked })
    func latest(outcome: DrainOutcome) throws {
        var rig = Rig(DrainRules(interval: 5, isLatestOnly: true), seed: 7)
        for failures in 0..<12 {
            let retry = rig.drain(outcome)
            let delay = try #require(retry)
            let ceiling = min(600, 2 * Double(1 << failures))
            #expect((ceiling / 2...ceiling).contains(delay))
            #expect(abs(rig.wait - delay) < 1e-5)
            rig.trigger(.threshold)
            #expect(rig.wait > 0)
            rig.sleep()
        }
        rig.drain(.drained)
        #expect(rig.wait <= 5)
    }

    @Test("a failure that waiting alone will not mend is interrupted by a command alone, as everywhere")
    func latestFailed() {
        var rig = Rig(DrainRules(interval: 5, isLatestOnly: true), seed: 7)
        for _ in 0..<8 { rig.drain(.failed(.auth)) }
        for trigger in Self.automatic where trigger != .change { rig.trigger(trigger) }
        #expect(rig.wait > 100)
        rig.trigger(.command)
        #expect(rig.wait == 0)
    }
}
