import Base
import DaemonConfiguration
import Testing
import Tracking

@testable import Daemon

/// `start` is a Monday, 08:00 UTC.
@Suite("following the schedule")
struct ScheduleKeeperTests {
    private func keeper(_ windows: [String]) -> ScheduleKeeper {
        var settings = Settings().tracking
        (settings.schedule, settings.timeZone) = (windows, "UTC")
        var keeper = ScheduleKeeper()
        keeper.configure(settings)
        return keeper
    }

    @Test("without a schedule no clock is looked at")
    func none() {
        var (keeper, present) = (keeper([]), Wish?.none)
        func clock() -> Timestamp? {
            Issue.record("it was looked at")
            return nil
        }
        #expect(keeper.look(clock(), present: &present, now: instant(0)) == nil)
        #expect(!keeper.isActive && keeper.deadline == nil && !keeper.needsTime)
    }

    @Test("it looks at every edge, at an unknown clock every 10 s, and at most once a second")
    func looks() {
        var (keeper, present) = (keeper(["mon 07:00-08:30"]), Wish?.none)
        #expect(keeper.look(nil, present: &present, now: instant(0)) == nil)
        #expect(keeper.needsTime && keeper.deadline == instant(10))
        let opened = keeper.look(start, present: &present, now: instant(5))
        #expect(opened == Wish(tracks: true, origin: .schedule, time: start.advanced(bySeconds: -3600)))
        #expect(!keeper.needsTime && keeper.deadline == instant(65))
        present = opened
        var looks = 0
        func clock(_ seconds: Double) -> Timestamp? {
            looks += 1
            return start.advanced(bySeconds: seconds)
        }
        #expect(keeper.look(clock(0.5), present: &present, now: instant(5.5)) == nil && looks == 0)
        #expect(keeper.look(clock(1780), present: &present, now: instant(1785)) == nil && looks == 1)
        #expect(keeper.deadline == instant(1805))
        let closed = keeper.look(clock(1800), present: &present, now: instant(1805))
        #expect(closed == Wish(tracks: false, origin: .schedule, time: start.advanced(bySeconds: 1800)))
    }

    @Test("what could not be written is wished again after 10 s")
    func retry() {
        var (keeper, present) = (keeper(["mon 07:00-08:30"]), Wish?.none)
        #expect(keeper.look(start, present: &present, now: instant(0))?.tracks == true)
        keeper.retry(now: instant(0))
        #expect(keeper.look(start, present: &present, now: instant(0.5)) == nil)
        #expect(keeper.deadline == instant(10))
        #expect(keeper.look(start, present: &present, now: instant(10))?.tracks == true)
    }
}
