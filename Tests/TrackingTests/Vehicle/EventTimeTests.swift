import Base
import Testing

@testable import Tracking

@Suite("event time")
struct EventTimeTests {
    @Test("known at once, or when time settles; over a power cut it is estimated")
    func settles() {
        #expect(
            EventTime(at: booted(990), boot: thisBoot, anchor: anchor)
                == .known(moment(990), isEstimated: false))
        #expect(
            EventTime(at: booted(990), boot: earlierBoot, anchor: anchor)
                == .pending(earlierBoot, booted(990)))
        var event = EventTime(at: booted(3), boot: thisBoot, anchor: nil)
        #expect(event == .pending(thisBoot, booted(3)))
        #expect(!event.isKnown)
        event.settle(by: anchor, lastTrusted: moment(-9000))
        #expect(event == .known(moment(3), isEstimated: false))
        #expect(event.isKnown)
        let other = EventTime.Anchor(boot: thisBoot, now: booted(0), time: moment(7))
        event.settle(by: other, lastTrusted: nil)
        #expect(event == .known(moment(3), isEstimated: false))
        for (last, expected) in [
            (moment(-9000), moment(-9000)), (nil, moment(1000)), (moment(2000), moment(1000)),
        ] {
            var cut = EventTime.pending(earlierBoot, booted(3))
            cut.settle(by: anchor, lastTrusted: last)
            #expect(cut == .known(expected, isEstimated: true))
        }
    }

    @Test(
        "boot ids",
        arguments: [
            ("4f2c1d5e-0a9b-4c3d-8e7f-001122334455\n", "4f2c1d5e-0a9b-4c3d-8e7f-001122334455"),
            ("4F2C1D5E-0A9B-4C3D-8E7F-001122334455", "4f2c1d5e-0a9b-4c3d-8e7f-001122334455"),
            ("00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"),
            ("", nil),
            ("4f2c1d5e0a9b4c3d8e7f001122334455", "4f2c1d5e-0a9b-4c3d-8e7f-001122334455"),
            ("4f2c1d5e0a9b4c3d8e7f00112233445", nil), ("4f2c1d5e0a9b4c3d8e7f0011-2233445", nil),
            ("4f2c1d5e-0a9b-4c3d-8e7f-00112233445g", nil), ("4f2c1d5e-0a9b-4c3d-8e7f-0011223344556", nil),
            ("4f2c1d5e-0a9b-4c3d-8e7f00-1122334455", nil),
        ] as [(String, String?)])
    func bootIDs(text: String, expected: String?) {
        #expect(BootID(text)?.text == expected)
    }
}
