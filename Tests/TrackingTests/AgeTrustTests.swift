import Base
import Testing

@testable import Tracking

private let day = 86_400.0
private let week = 7 * day

private func time(_ seconds: Double) -> Timestamp {
    Timestamp(milliseconds: start).advanced(bySeconds: seconds)
}

private func boot(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: 0).advanced(bySeconds: seconds)
}

extension AgeTrust {
    /// A restart: CLOCK_BOOTTIME says nothing of what was before.
    fileprivate mutating func restart() {
        self = AgeTrust(memory)
    }

    /// The next time, in days; `now` is that of CLOCK_BOOTTIME in days.
    fileprivate mutating func see(_ days: Double, now: Double) -> Verdict {
        observe(time(days * day), now: boot(now * day), retention: week)
    }
}

/// A time, in days, when CLOCK_BOOTTIME is `now`, in days; and what it may be used for. Several of them are one case.
private struct Step: Sendable {
    var time: Double
    var now: Double
    var isBelieved = true
    /// Days before which rows are old while it is in doubt.
    var limit: Double?
    /// CLOCK_BOOTTIME begins anew before it.
    var isRestart = false

    static func believed(_ time: Double, now: Double, restart: Bool = false) -> Step {
        Step(time: time, now: now, isRestart: restart)
    }

    static func doubted(_ time: Double, now: Double, limit: Double, restart: Bool = false) -> Step {
        Step(time: time, now: now, isBelieved: false, limit: limit, isRestart: restart)
    }
}

private struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var steps: [Step]

    static let all = [
        Case(
            testDescription: "what the machine has run is believed, however long nothing was stored",
            steps: [.believed(0.1, now: 5), .believed(30.1, now: 35), .believed(30, now: 35)]),
        Case(
            testDescription: "a step of a day is believed, a longer one is not",
            steps: [.believed(1, now: 0), .doubted(2.5, now: 0.4, limit: -6.6)]),
        Case(
            testDescription: "a jump is in doubt until it has held for 24 hours of CLOCK_BOOTTIME",
            steps: [
                .believed(0, now: 9), .doubted(7300, now: 9.1, limit: -6.9),
                .doubted(7300.99, now: 10.09, limit: -5.91), .believed(7301, now: 10.1),
            ]),
        Case(
            testDescription: "and not for the time before it",
            steps: [.believed(0, now: 9), .doubted(7300, now: 29, limit: 13), .believed(7301, now: 30)]),
        Case(
            testDescription: "restarts do not count, nor the nights between them",
            steps: [
                .believed(0, now: 1), .doubted(7300, now: 1.1, limit: -6.9),
                .doubted(7300.5, now: 1.6, limit: -6.4),
                .doubted(7301.2, now: 0, limit: -6.4, restart: true), .doubted(7301.6, now: 0.4, limit: -6),
                .believed(7301.7, now: 0.5),
            ]),
        Case(
            testDescription: "steps of less than a day are summed within the window",
            steps: [
                .believed(0.95, now: 0), .doubted(1.9, now: 0, limit: -7, restart: true),
                .doubted(2.8, now: 0.9, limit: -6.1), .believed(2.9, now: 1),
            ]),
        Case(
            testDescription: "also within one run, and in many steps",
            steps: (1...24).map { .believed(Double($0) / 24, now: 0) } + [
                .doubted(25.01 / 24, now: 0, limit: -7), .doubted(1.5, now: 0, limit: -7),
                .believed(1, now: 0),
            ]),
        Case(
            testDescription: "and not beyond the window",
            steps: [
                .believed(0.9, now: 0), .believed(1.9, now: 1), .believed(2.8, now: 1),
                .believed(3.8, now: 2),
                .believed(4.7, now: 2),
            ]),
        Case(
            testDescription: "time that runs faster than CLOCK_BOOTTIME creeps ahead of it",
            steps: [.believed(0.9, now: 0), .believed(1.5, now: 0.6), .doubted(2, now: 0.7, limit: -6.3)]),
        Case(
            testDescription: "a receiver that stood still and is right again",
            steps: [.believed(0, now: 0), .believed(0, now: 5), .doubted(5, now: 5, limit: -7)]),
        Case(
            testDescription: "a jump back ends the doubt, and each further one begins another",
            steps: [
                .believed(0, now: 0), .doubted(7300, now: 0, limit: -7),
                .doubted(7300.5, now: 0.5, limit: -6.5),
                .believed(0.6, now: 0.6), .doubted(7300.6, now: 0.6, limit: -6.4),
                .doubted(7301.5, now: 1.5, limit: -5.5),
                .believed(7301.6, now: 1.6),
            ]),
        Case(
            testDescription: "a jump back to another line that is ahead as well does not",
            steps: [
                .believed(0, now: 0), .doubted(7300, now: 0, limit: -7),
                .doubted(50.5, now: 0.5, limit: -6.5),
                .doubted(50.9, now: 0.9, limit: -6.1), .believed(51, now: 1),
            ]),
        Case(
            testDescription: "clocks that were behind make nothing old when they are right again",
            steps: [.believed(-40, now: 0), .doubted(0.1, now: 0.1, limit: -46.9)]),
        Case(
            testDescription: "of two jumps the earlier is beyond doubt first, and rows grow old by it",
            steps: [
                .believed(0, now: 0), .doubted(100, now: 0, limit: -7),
                .doubted(200.5, now: 0.5, limit: -6.5),
                .doubted(201, now: 1, limit: 94), .believed(201.5, now: 1.5),
            ]),
    ]
}

@Suite("which time may call rows old")
struct AgeTrustTests {
    private var trust = AgeTrust(AgeTrust.Memory(latest: time(0)))

    @Test("a time is believed when it is no more than a day ahead of the machine's run", arguments: Case.all)
    private mutating func table(of example: Case) {
        for step in example.steps {
            if step.isRestart { trust.restart() }
            let expected: AgeTrust.Verdict =
                step.isBelieved ? .believed : .doubted(onlyBefore: step.limit.map { time($0 * day) })
            #expect(trust.see(step.time, now: step.now) == expected, "\(step)")
        }
    }

    @Test("the first time of all is believed")
    mutating func first() {
        trust = AgeTrust(AgeTrust.Memory(latest: nil))
        #expect(trust.see(9000, now: 0) == .believed)
    }

    @Test("the beginning of a doubt is told, with all of what led to it, and each further jump")
    mutating func jumps() {
        var told: [AgeTrust.Lead?] = []
        for (days, now) in [(0.9, 0.0), (1.8, 0), (1.9, 0.1), (2.5, 0.1), (4, 0.1), (4.1, 0.2)] {
            _ = trust.see(days, now: now)
            told.append(
                trust.newLead.map {
                    AgeTrust.Lead(days: ($0.days * 10).rounded() / 10, isOneStep: $0.isOneStep)
                })
        }
        let creeping = AgeTrust.Lead(days: 1.8, isOneStep: false)
        let jump = AgeTrust.Lead(days: 3.9, isOneStep: true)
        #expect(told == [nil, creeping, nil, nil, jump, nil])
    }

    @Test("nights off: rows grow old by the line of a day's run ago, and none is kept for ever")
    mutating func commuter() {
        var oldest: [Double] = []
        // Ten hours a day, but for the weekend.
        for morning in 1...70 where morning % 7 < 5 {
            trust.restart()
            for hour in 0...10 {
                let now = Double(hour) / 24
                let time = Double(morning) + now
                switch trust.see(time, now: now) {
                case .believed: oldest.append(7)
                case .doubted(let limit):
                    oldest.append(
                        limit.map { time - $0.seconds(since: TrackingTests.time(0)) / day } ?? .infinity)
                }
            }
        }
        #expect(oldest.allSatisfy { (7...12).contains($0) }, "\(oldest.max() ?? 0)")
        #expect(trust.memory.lines.count < 6)
    }

    @Test("what is remembered is bounded, and a doubt all the same, however many steps there are")
    mutating func bounded() {
        _ = trust.see(0, now: 0)
        for step in 1...2000 {
            let now = Double(step) / 2100
            let verdict = trust.see(now + Double(step) * 0.1, now: now)
            let ahead = Double(step) * 0.1
            if (ahead - 1).magnitude > 0.05 {
                let limit = AgeTrust.Verdict.doubted(onlyBefore: time(now * day).advanced(bySeconds: -week))
                #expect(verdict == (ahead < 1 ? .believed : limit))
            }
        }
        #expect(trust.memory.lines.count == AgeTrust.limit)
        // After a day the rest is beyond doubt.
        let now = 2000.0 / 2100
        _ = trust.see(now + 200, now: now)
        #expect(trust.see(now + 201.001, now: now + 1.001) == .believed)
    }

    @Test("what has changed is due; the time run every ten minutes")
    mutating func due() {
        #expect(trust.due == nil)
        _ = trust.see(0.001, now: 0.001)
        #expect(trust.due == nil)
        _ = trust.see(0.009, now: 0.009)
        #expect(trust.due == trust.memory)
        trust.keep(trust.memory)
        #expect(trust.due == nil)
        _ = trust.see(7300, now: 0.009)
        #expect(trust.due?.lines.count == 2)
        trust.keep(trust.memory)
        trust.forgetKept()
        #expect(trust.due == trust.memory)
    }

    @Test("another clock is believed when it is not ahead; else what the machine has run counts")
    mutating func other() {
        #expect(AgeTrust(AgeTrust.Memory(latest: nil)).proved(time(0), now: boot(0)) == nil)
        _ = trust.see(0.1, now: 0.1)
        #expect(trust.proved(time(3.5 * day), now: boot(3 * day)) == time(3.5 * day))
        #expect(trust.proved(time(5 * day), now: boot(3 * day)) == time(2.9 * day))
        _ = trust.see(7300, now: 0.2)
        #expect(trust.proved(time(7300 * day), now: boot(0.2 * day)) == time(0.1 * day))
    }
}
