import Base
import ControlTool
import Testing

@Suite("times that users type")
struct TimeArgumentTests {
    static let now = Timestamp(milliseconds: 1_781_526_850_123)  // 2026-06-15T12:34:10.123Z

    /// Central Europe in 2026, roughly: one hour ahead, two from 29 March 01:00 UTC to 25 October 01:00 UTC.
    static let berlin = Zone(name: "Berlin") { seconds in
        (1_774_746_000..<1_792_890_000).contains(seconds) ? 7200 : 3600
    }

    @Test(
        "each form",
        arguments: [
            ("now", "2026-06-15T12:34:10.123Z"), ("today", "2026-06-14T22:00:00.000Z"),
            ("-90s", "2026-06-15T12:32:40.123Z"), ("-15m", "2026-06-15T12:19:10.123Z"),
            ("-2h", "2026-06-15T10:34:10.123Z"), ("-7d", "2026-06-08T12:34:10.123Z"),
            ("-0s", "2026-06-15T12:34:10.123Z"), ("2h", "2026-06-15T10:34:10.123Z"),
            ("1w", "2026-06-08T12:34:10.123Z"), ("-2w", "2026-06-01T12:34:10.123Z"),
            ("yesterday", "2026-06-13T22:00:00.000Z"),
            ("2026-06-15T12:34:10.5Z", "2026-06-15T12:34:10.500Z"),
            ("2026-06-15T12:34:10.123456789Z", "2026-06-15T12:34:10.123Z"),
            ("2026-06-15t12:34z", "2026-06-15T12:34:00.000Z"),
            ("2026-06-15T12:34+02:00", "2026-06-15T10:34:00.000Z"),
            ("2026-06-15T12:34:10-0530", "2026-06-15T18:04:10.000Z"),
            ("2026-06-15T12:34:10", "2026-06-15T10:34:10.000Z"),
            ("2026-06-15 12:34", "2026-06-15T10:34:00.000Z"), ("2026-01-15", "2026-01-14T23:00:00.000Z"),
            ("2024-02-29", "2024-02-28T23:00:00.000Z"),
            ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
            ("-999999999d", "0001-01-01T00:00:00.000Z"),
            // The hour that does not exist in spring, and the one that occurs twice in autumn.
            ("2026-03-29T02:30", "2026-03-29T01:30:00.000Z"),
            ("2026-10-25T02:30", "2026-10-25T00:30:00.000Z"),
            ("2026-10-25T03:30", "2026-10-25T02:30:00.000Z"),
        ])
    func forms(text: String, expected: String) throws {
        #expect(try TimeArgument.instant(text, now: Self.now, zone: Self.berlin).iso8601 == expected)
    }

    @Test(
        "what is no time is refused with an example",
        arguments: [
            "", "soon", "2", "-2", "-h", "--2h", "-2y", "-1.5h", "tomorrow", "-+2h", "-12345678901d", "2026",
            "2026-06",
            "2026-6-15", "2026-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-06-00", "0000-01-01",
            "2026-06-15T", "2026-06-15T12", "2026-06-15T24:00", "2026-06-15T12:60", "2026-06-15T12:34:60",
            "2026-06-15T12:34:10.Z", "2026-06-15T12:34.5Z", "2026-06-15T12:34:10Q", "2026-06-15T12:34+2",
            "2026-06-15T12:34+25:00", "2026-06-15T12:34:10ZZ", "2026-06-15X12:34", "today ", "\u{1B}[2J",
            "٢٠٢٦-٠٦-١٥",
        ])
    func refused(text: String) {
        let error = #expect(throws: TimeArgument.Invalid.self) {
            try TimeArgument.instant(text, now: Self.now, zone: .utc)
        }
        #expect(error?.description.contains("2026-06-15T12:34:00Z") == true)
        #expect(error?.description.contains("\u{1B}") == false)
    }

    @Test("durations")
    func durations() throws {
        #expect(try TimeArgument.duration("2h") == 7200)
        #expect(try TimeArgument.duration("-2h") == 7200)
        #expect(try TimeArgument.duration("30s") == 30)
        #expect(try TimeArgument.duration("2w") == 1_209_600)
        for text in ["", "h", "2", "2 h", "two", "1e3s"] {
            #expect(throws: TimeArgument.Invalid.self) { try TimeArgument.duration(text) }
        }
    }

    @Test("every day of four centuries survives a round trip")
    func calendar() throws {
        var day = Int64(-62_135_596_800)
        while day < 12_622_780_800 {
            let text = Timestamp(milliseconds: day * 1000).iso8601
            #expect(try TimeArgument.instant(text, now: Self.now, zone: .utc).milliseconds == day * 1000)
            day += 86_400 * 97
        }
    }

    @Test("the host's zone has a plausible offset")
    func localZone() {
        #expect(abs(Zone.local.offset(at: 1_781_526_850)) <= 14 * 3600)
    }
}
