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

@Suite("which time may call rows old")
struct AgeTrustTests {
    private var trust = AgeTrust(AgeTrust.Memory(latest: time(0)))

    @Test("what is lived through is believed, however long nothing was stored")
    mutating func ordinary() {
        #expect(trust.see(0.1, now: 5) == .believed)
        #expect(trust.see(30.1, now: 35) == .believed)
        #expect(trust.see(30.0, now: 35) == .believed)
        #expect(trust.newJump == nil)
    }

    @Test("the first time of all is believed")
    mutating func first() {
        trust = AgeTrust(AgeTrust.Memory(latest: nil))
        #expect(trust.see(9000, now: 0) == .believed)
    }

    @Test("a jump is in doubt until it has been lived through, over restarts")
    mutating func jump() {
        #expect(trust.see(0.1, now: 0) == .believed)
        #expect(trust.see(7300, now: 0.1) == .doubted(onlyBefore: nil))
        #expect(trust.newJump.map { $0.rounded() } == 7300)
        #expect(trust.see(7303, now: 3.1) == .doubted(onlyBefore: nil))
        #expect(trust.newJump == nil)
        trust.restart()
        #expect(trust.see(7303.5, now: 0) == .doubted(onlyBefore: nil))
        #expect(trust.see(7306.9, now: 3.4) == .doubted(onlyBefore: nil))
        #expect(trust.see(7307.1, now: 3.6) == .believed)
    }

    @Test("time that runs faster than CLOCK_BOOTTIME, or slower, is lived through at the slower pace")
    mutating func pace() {
        #expect(trust.see(100, now: 0) == .doubted(onlyBefore: nil))
        for step in 1...20 {
            #expect(trust.see(100 + 0.9 * Double(step), now: 0.1 * Double(step)) == .doubted(onlyBefore: nil))
        }
        #expect(trust.memory.lived < 2.1 * day)
        #expect(trust.see(118.1, now: 30) == .doubted(onlyBefore: nil), "a receiver that stood still")
    }

    @Test("a jump back ends the doubt, also after a while on the wrong line")
    mutating func back() {
        #expect(trust.see(7300, now: 0) == .doubted(onlyBefore: nil))
        #expect(trust.see(7302, now: 2) == .doubted(onlyBefore: nil))
        #expect(trust.see(2.1, now: 2.1) == .believed)
        #expect(trust.see(3, now: 3) == .believed)
        #expect(trust.see(7303, now: 3) == .doubted(onlyBefore: nil), "and each further one begins another")
    }

    @Test("a jump back to another line begins the doubt anew")
    mutating func elsewhere() {
        #expect(trust.see(7300, now: 0) == .doubted(onlyBefore: nil))
        #expect(trust.see(7306, now: 6) == .doubted(onlyBefore: nil))
        #expect(trust.see(50, now: 6.1) == .doubted(onlyBefore: nil))
        #expect(trust.see(54, now: 10.1) == .doubted(onlyBefore: nil))
        #expect(trust.see(57.1, now: 13.2) == .believed)
    }

    @Test("clocks that were behind make nothing old when they are right again")
    mutating func behind() {
        #expect(trust.see(-40, now: 0) == .believed)
        #expect(trust.see(0.1, now: 0.1) == .doubted(onlyBefore: nil))
    }

    @Test("nights off are lived through; what was stored before the weekend before last goes")
    mutating func commuter() {
        var verdicts: [AgeTrust.Verdict] = []
        for morning in 1...28 where morning % 7 < 5 {
            trust.restart()
            verdicts.append(trust.see(Double(morning), now: 0))
            _ = trust.see(Double(morning) + 0.3, now: 0.3)
        }
        #expect(verdicts.prefix(4).allSatisfy { $0 == .believed })
        #expect(verdicts.last == .doubted(onlyBefore: time(11.3 * day)))
    }

    @Test("what has changed is due; time alone once an hour")
    mutating func due() {
        #expect(trust.due == nil)
        _ = trust.see(0.01, now: 0.01)
        #expect(trust.due == nil)
        _ = trust.see(0.05, now: 0.05)
        #expect(trust.due == trust.memory)
        trust.keep(trust.memory)
        #expect(trust.due == nil)
        _ = trust.see(7300, now: 0.05)
        #expect(trust.due?.first != nil)
    }

    @Test("another clock is believed on the same line, and without doubt")
    mutating func other() {
        _ = trust.see(0.1, now: 0.1)
        #expect(trust.allows(time(3.5 * day), now: boot(3 * day)))
        #expect(!trust.allows(time(5 * day), now: boot(3 * day)))
        _ = trust.see(7300, now: 0.2)
        #expect(!trust.allows(time(7300 * day), now: boot(0.2 * day)))
    }
}
