import Base
import Testing

@testable import Tracking

@Suite("ignition")
struct IgnitionTests {
    private func ignition(
        _ memory: Ignition.Memory? = Ignition.Memory(isOn: false, boot: thisBoot), tracks: Bool = true,
        isManual: Bool = false
    ) -> Ignition {
        Ignition(memory, policy: Ignition.Policy(tracks: tracks, isManual: isManual), boot: thisBoot)
    }

    private func known(_ isOn: Bool, _ seconds: Double) -> Ignition.Action {
        .record(isOn: isOn, .known(moment(seconds), isEstimated: false))
    }

    @Test("on starts, off stops after the delay; each edge while tracking admits the next fix")
    func tracks() {
        var ignition = ignition()
        #expect(ignition.observe(edge(false, 1), anchor: anchor, tracking: .off) == [])
        #expect(
            ignition.observe(edge(true, 10), anchor: anchor, tracking: .off) == [known(true, 10), .start])
        let off = ignition.observe(edge(false, 20), anchor: anchor, tracking: .on(by: .ignition))
        #expect(off == [known(false, 20), .upload, .admitNextFix])
        #expect(ignition.deadline == booted(80))
        #expect(ignition.expire(now: booted(79.9)) == [])
        #expect(ignition.expire(now: booted(80)) == [.stop])
        #expect(ignition.expire(now: booted(99)) == [])
        // On again within the delay.
        _ = ignition.observe(edge(true, 100), anchor: anchor, tracking: .off)
        _ = ignition.observe(edge(false, 110), anchor: anchor, tracking: .on(by: .ignition))
        let on = ignition.observe(edge(true, 169), anchor: anchor, tracking: .on(by: .ignition))
        #expect(on == [known(true, 169), .start, .admitNextFix])
        #expect(ignition.deadline == nil)
        // A person starts within the delay: that is newer than the edge.
        _ = ignition.observe(edge(false, 200), anchor: anchor, tracking: .on(by: .ignition))
        ignition.overrule()
        #expect(ignition.expire(now: booted(9000)) == [])
    }

    @Test("it only records, if no more is asked of it")
    func records() {
        var ignition = ignition(tracks: false)
        let on = ignition.observe(edge(true, 10), anchor: anchor, tracking: .on(by: .person))
        #expect(on == [known(true, 10), .admitNextFix])
        #expect(
            ignition.observe(edge(false, 20), anchor: anchor, tracking: .off) == [known(false, 20), .upload])
        #expect(ignition.deadline == nil)
    }

    /// What was known and in which boot, what is recorded at the start (nothing, or off at the time last stored), the
    /// first level, and whether that is recorded as a change.
    @Test(
        "a start compares with what was known last",
        arguments: [
            (nil, thisBoot, false, false, false), (nil, thisBoot, false, true, true),
            (false, thisBoot, false, false, false), (false, thisBoot, false, true, true),
            (true, thisBoot, false, true, false), (true, thisBoot, false, false, true),
            (true, earlierBoot, true, true, true), (true, earlierBoot, true, false, false),
            (false, earlierBoot, false, true, true), (false, earlierBoot, false, false, false),
        ] as [(Bool?, BootID, Bool, Bool, Bool)])
    func starts(known: Bool?, of lastBoot: BootID, isOffRecorded: Bool, level: Bool, isChange: Bool) {
        for isManual in [false, true] {
            var ignition = ignition(Ignition.Memory(isOn: known, boot: lastBoot), isManual: isManual)
            let off = Ignition.Action.record(isOn: false, .known(moment(-500), isEstimated: true))
            #expect(ignition.start(lastStored: moment(-500)) == (isOffRecorded ? [off] : []))
            #expect(ignition.memory.boot == thisBoot)
            #expect(ignition.level == nil)
            let isForgotten = isManual && lastBoot == earlierBoot
            #expect(
                ignition.memory.isOn
                    == (isForgotten ? nil : lastBoot == earlierBoot ? known.map { _ in false } : known))
            let actions = ignition.observe(edge(level, 5), anchor: anchor, tracking: .off)
            #expect(actions.contains(.record(isOn: level, .known(moment(5), isEstimated: false))) == isChange)
            #expect(ignition.level == level)
            // A second start of the daemon tells nothing twice.
            var again = self.ignition(ignition.memory, isManual: isManual)
            #expect(again.start(lastStored: moment(-500)) == [])
            #expect(again.observe(edge(level, 9), anchor: anchor, tracking: .off) == [])
        }
    }

    @Test(
        "the stop that a crash or a power cut swallowed comes after the start; no one else's tracking is stopped"
    )
    func swallowedStop() {
        for isNewBoot in [false, true] {
            for tracking in [Ignition.Tracking.on(by: .ignition), .on(by: .person), .off] {
                var ignition = ignition(
                    Ignition.Memory(isOn: isNewBoot, boot: isNewBoot ? earlierBoot : thisBoot))
                _ = ignition.start(lastStored: nil)
                let actions = ignition.observe(edge(false, 5), anchor: nil, tracking: tracking)
                let isIts = tracking == .on(by: .ignition)
                #expect(actions == (isNewBoot && isIts ? [.stop] : []))
                #expect(ignition.deadline == (!isNewBoot && isIts ? booted(65) : nil))
            }
        }
    }

    @Test("a line that is gone for a while says nothing; what changed meanwhile is told")
    func lost() {
        var ignition = ignition()
        _ = ignition.observe(edge(true, 10), anchor: anchor, tracking: .off)
        ignition.lose()
        #expect(ignition.level == nil)
        #expect(ignition.observe(edge(true, 20), anchor: anchor, tracking: .on(by: .ignition)) == [])
        ignition.lose()
        let off = ignition.observe(edge(false, 30), anchor: anchor, tracking: .on(by: .ignition))
        #expect(off.first == known(false, 30))
    }

    @Test("external power: lost and back, against what was known")
    func power() {
        func told(_ event: ExternalPower.Event?) -> Bool? { event?.isBack }
        var power = ExternalPower()
        #expect(power.observe(edge(true, 1), boot: thisBoot, anchor: anchor) == nil)
        let lost = power.observe(edge(false, 2), boot: thisBoot, anchor: anchor)
        #expect(lost == ExternalPower.Event(isBack: false, time: .known(moment(2), isEstimated: false)))
        var after = ExternalPower(isPresent: power.isPresent)
        #expect(after.observe(edge(false, 3), boot: thisBoot, anchor: anchor) == nil)
        #expect(told(after.observe(edge(true, 4), boot: thisBoot, anchor: nil)) == true)
    }
}
