import Base
import Testing

@testable import Tracking

/// Weekdays from 07:00 to 18:00 UTC; 2026-06-15 is a Monday.
private func watch(_ windows: String = "mon-fri 07:00-18:00") throws -> ScheduleWatch {
    ScheduleWatch(try TrackingSchedule([windows]), in: .utc)
}

private func wish(_ tracks: Bool, _ origin: Wish.Origin, _ time: String?) -> Wish {
    Wish(tracks: tracks, origin: origin, time: time.map(utc))
}

@Suite("schedule watch")
struct ScheduleWatchTests {
    /// The wish that was persisted, the first time known at a start, and what the schedule wishes then.
    @Test(
        "a start makes up for the edges that passed, if they are newer than the wish",
        arguments: [
            (nil, "2026-06-15T10:00", true),
            (nil, "2026-06-15T20:00", false),
            (wish(true, .schedule, "2026-06-12T07:00"), "2026-06-15T20:00", false),
            (wish(false, .schedule, "2026-06-12T18:00"), "2026-06-15T20:00", nil),
            (wish(false, .schedule, "2026-06-12T18:00"), "2026-06-15T10:00", true),
            // The schedule is another one now.
            (wish(true, .schedule, "2026-06-15T05:00"), "2026-06-15T06:00", false),
            (wish(false, .person, "2026-06-15T06:00"), "2026-06-15T10:00", true),
            (wish(false, .person, "2026-06-15T09:00"), "2026-06-15T10:00", nil),
            // It opened and closed while the machine was off: the stop holds.
            (wish(false, .person, "2026-06-15T06:00"), "2026-06-15T20:00", nil),
            (wish(true, .person, "2026-06-15T06:00"), "2026-06-15T20:00", false),
            (wish(true, .person, "2026-06-15T19:00"), "2026-06-15T20:00", nil),
            (wish(true, .server, "2026-06-15T10:00"), "2026-06-15T20:00", false),
            (wish(false, .server, "2026-06-12T10:00"), "2026-06-15T10:00", true),
            // Made while nobody knew the time, or by a clock that was ahead: as if made now.
            (wish(false, .person, nil), "2026-06-15T10:00", nil),
            (wish(true, .person, nil), "2026-06-15T20:00", nil),
            (wish(false, .person, "2031-01-01T00:00"), "2026-06-15T10:00", nil),
        ] as [(Wish?, String, Bool?)])
    func start(present: Wish?, now: String, tracks: Bool?) throws {
        var (watch, present) = (try watch(), present)
        #expect(watch.look(nil, present: &present) == .timeUnknown)
        guard case .wish(let wish) = watch.look(utc(now), present: &present) else {
            #expect(tracks == nil)
            return
        }
        #expect(wish.tracks == tracks)
        #expect(wish.origin == .schedule)
        present = wish
        #expect(watch.look(utc(now), present: &present) == .wait)
    }

    @Test("a person's start within a closed window lasts until the window closes the next time")
    func personWithinClosedWindow() throws {
        var watch = try watch()
        var present: Wish? = wish(false, .schedule, "2026-06-15T18:00")
        #expect(watch.look(utc("2026-06-15T19:00"), present: &present) == .wait)
        present = wish(true, .person, "2026-06-15T20:00")
        var told: [String] = []
        for _ in 0..<4 {
            let deadline = try #require(watch.deadline)
            let early = watch.look(deadline.advanced(bySeconds: -1), present: &present)
            #expect(early == .wait)
            guard case .wish(let new) = watch.look(deadline.advanced(bySeconds: 0.2), present: &present)
            else {
                continue
            }
            told.append("\(new.tracks) \(new.time?.iso8601.prefix(16) ?? "")")
            present = new
        }
        #expect(
            told == [
                "true 2026-06-16T07:00", "false 2026-06-16T18:00", "true 2026-06-17T07:00",
                "false 2026-06-17T18:00",
            ])
    }

    @Test("a suspension over both edges overrules an older stop only by what is newest")
    func suspension() throws {
        var watch = try watch()
        var present: Wish? = wish(false, .person, "2026-06-15T18:30")
        #expect(watch.look(utc("2026-06-15T19:00"), present: &present) == .wait)
        // Opened and closed meanwhile: the person's stop goes on to hold.
        #expect(watch.look(utc("2026-06-16T19:00"), present: &present) == .wait)
        #expect(present?.isPersonsStop == true)
        let woken = watch.look(utc("2026-06-17T10:00"), present: &present)
        #expect(woken == .wish(wish(true, .schedule, "2026-06-17T07:00")))
    }

    @Test("a clock that was ahead is put right: the schedule decides again what it decided, and nothing else")
    func stepBack() throws {
        var ahead = try watch()
        var present: Wish? = wish(false, .schedule, "2026-06-20T18:00")
        #expect(ahead.look(utc("2026-06-20T19:00"), present: &present) == .wait)
        #expect(
            ahead.look(utc("2026-06-15T12:00"), present: &present)
                == .wish(wish(true, .schedule, "2026-06-15T07:00")))
        var other = try watch()
        present = wish(false, .person, "2026-06-20T18:30")
        #expect(other.look(utc("2026-06-20T19:00"), present: &present) == .wait)
        #expect(other.look(utc("2026-06-15T12:00"), present: &present) == .wait)
        #expect(present?.time == utc("2026-06-15T12:00"))
        #expect(
            other.look(utc("2026-06-16T07:00"), present: &present)
                == .wish(wish(true, .schedule, "2026-06-16T07:00")))
    }

    @Test("a wish between edge and look is newer than the edge; a schedule without edges waits for ever")
    func details() throws {
        var watch = try watch()
        var present: Wish? = wish(true, .schedule, "2026-06-15T07:00")
        #expect(watch.look(utc("2026-06-15T17:00"), present: &present) == .wait)
        present = Wish(tracks: true, origin: .person, time: utc("2026-06-15T18:00").advanced(bySeconds: 0.1))
        #expect(watch.look(utc("2026-06-15T18:01"), present: &present) == .wait)
        #expect(watch.deadline == utc("2026-06-16T07:00"))
        #expect(watch.look(nil, present: &present) == .wait)
        var always = try TrackingTests.watch("mon-sun 00:00-24:00")
        present = nil
        let first = always.look(utc("2026-06-15T17:00"), present: &present)
        #expect(first == .wish(wish(true, .schedule, "2026-06-15T17:00")))
        #expect(always.deadline == nil)
        #expect(always.look(utc("2026-07-15T17:00"), present: &present) == .wait)
    }
}
