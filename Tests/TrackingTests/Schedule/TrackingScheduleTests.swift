import Base
import Support
import Testing

@testable import Tracking

/// The rules of a zone of `ZoneTables`.
func zone(_ name: String) throws -> TimeZoneRules {
    let digits = try #require(ZoneTables.files[name]).filter { !$0.isWhitespace }.map { $0 }
    return try TimeZoneRules(
        tzif: stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0
        })
}

/// A moment in UTC.
func utc(_ text: String) -> Timestamp {
    guard let time = Timestamp(iso8601: text + ":00Z") else { preconditionFailure("not a time: \(text)") }
    return time
}

private func schedule(_ text: String) throws -> TrackingSchedule {
    try TrackingSchedule(text.split(separator: ";").map { String($0) })
}

@Suite("tracking schedule")
struct TrackingScheduleTests {
    @Test("around both changes of the clocks, in three zones, it is what Python reads minute by minute")
    func changesOfTheClocks() throws {
        #expect(ZoneTables.edges.count == 48)
        for row in ZoneTables.edges {
            let (schedule, zone) = (try schedule(row.schedule), try zone(row.zone))
            let expected = row.edges.split { $0.isWhitespace }.compactMap { word in
                Int64(word.dropFirst()).map {
                    TrackingSchedule.Edge(time: Timestamp(unixSeconds: $0), isOpen: word.first == "+")
                }
            }
            let first = Timestamp(unixSeconds: row.change - 8 * 86_400)
            let end = Timestamp(unixSeconds: row.change + 8 * 86_400)
            var found: [TrackingSchedule.Edge] = []
            while let edge = schedule.nextEdge(after: found.last?.time ?? first, in: zone), edge.time < end {
                found.append(edge)
            }
            #expect(found == expected, "\(row.zone), \(row.schedule), \(row.change)")
            for (index, edge) in expected.enumerated() {
                let before = edge.time.advanced(bySeconds: -0.001)
                #expect(schedule.isOpen(at: edge.time, in: zone) == edge.isOpen)
                #expect(schedule.isOpen(at: before, in: zone) != edge.isOpen)
                #expect(schedule.latestEdge(upTo: edge.time, in: zone) == edge)
                guard index > 0 else { continue }
                #expect(schedule.latestEdge(upTo: before, in: zone) == expected[index - 1])
            }
        }
    }

    /// 2026-06-15 is a Monday.
    @Test(
        "windows in UTC",
        arguments: [
            ("mon-fri 07:00-18:30", "2026-06-15T06:59", false, "2026-06-15T07:00"),
            ("mon-fri 07:00-18:30", "2026-06-15T07:00", true, "2026-06-15T18:30"),
            ("mon-fri 07:00-18:30", "2026-06-15T18:30", false, "2026-06-16T07:00"),
            ("mon-fri 07:00-18:30", "2026-06-19T18:30", false, "2026-06-22T07:00"),
            ("sun 22:00-06:00", "2026-06-15T05:59", true, "2026-06-15T06:00"),
            ("sun 22:00-06:00", "2026-06-14T05:59", false, "2026-06-14T22:00"),
            ("sat-mon 00:00-24:00", "2026-06-14T12:00", true, "2026-06-16T00:00"),
            ("MON 10:00-10:00", "2026-06-16T09:59", true, "2026-06-16T10:00"),
            ("mon,wed-thu,sun 10:00-11:00", "2026-06-15T11:00", false, "2026-06-17T10:00"),
            ("mon 10:00-12:00;mon 11:00-13:00", "2026-06-15T11:30", true, "2026-06-15T13:00"),
            ("mon 10:00-12:00;mon 12:00-13:00", "2026-06-15T11:30", true, "2026-06-15T13:00"),
            ("  fri-tue   00:00-24:00 ", "2026-06-15T11:30", true, "2026-06-17T00:00"),
            ("mon-sun 00:00-00:00", "2026-06-15T11:30", true, nil),
        ] as [(String, String, Bool, String?)])
    func windows(text: String, at: String, isOpen: Bool, next: String?) throws {
        let schedule = try schedule(text)
        #expect(schedule.isOpen(at: utc(at), in: .utc) == isOpen)
        let edge = schedule.nextEdge(after: utc(at), in: .utc)
        #expect(edge == next.map { TrackingSchedule.Edge(time: utc($0), isOpen: !isOpen) })
    }

    @Test(
        "mistakes are named with their place",
        arguments: [
            ("monday 07:00-18:00", 1, "expected a day"), ("mon-fry 07:00-18:00", 5, "expected a day"),
            ("mon, tue 07:00-18:00", 5, "expected a day"), ("", 1, "expected a day"),
            ("07:00-18:00", 1, "mon-sun"),
            ("mon", 4, "expected a space"), ("mon07:00-18:00", 4, "expected a space"),
            ("mon 7:00-18:00", 5, "two digits"), ("mon 07:60-18:00", 5, "two digits"),
            ("mon 07-18", 5, "two digits"), ("mon 24:00-02:00", 5, "23:59"), ("mon 07:00-24:01", 11, "24:00"),
            ("mon 07:00", 10, "expected '-'"), ("mon 07:00 - 18:00", 10, "expected '-'"),
            ("mon 07:00-18:00, tue 07:00-18:00", 16, "one window an entry"),
            ("mön 07:00-18:00", 1, "expected a day"),
            (String(repeating: "mon,", count: 30) + "mon 07:00-18:00", 1, "too long"),
        ])
    func mistakes(text: String, column: Int, advice: String) {
        let flaw = #expect(throws: TrackingSchedule.Flaw.self) {
            try TrackingSchedule(["mon 07:00-08:00", text])
        }
        #expect(flaw?.index == 1)
        #expect(flaw?.column == column)
        #expect(flaw?.advice.contains(advice) == true, "\(flaw?.description ?? "")")
    }

    @Test("a schedule has a window, and not thousands")
    func bounds() {
        #expect(throws: TrackingSchedule.Flaw.self) { try TrackingSchedule([]) }
        let window = "mon 07:00-08:00"
        #expect(throws: Never.self) { try TrackingSchedule(Array(repeating: window, count: 64)) }
        #expect(throws: TrackingSchedule.Flaw.self) {
            try TrackingSchedule(Array(repeating: window, count: 65))
        }
    }
}
