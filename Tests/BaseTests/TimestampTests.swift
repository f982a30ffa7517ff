import Support
import Testing

@testable import Base

/// Years 0 to 9999 in milliseconds: what four digits can express.
private let written: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

@Test("a time reads back as it was written, over all years", arguments: [UInt64(1), 2, 3])
func timestampRoundTrip(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
        let time = Timestamp(milliseconds: Int64.random(in: written, using: &random))
        let text = time.iso8601
        try #require(text.utf8.count == 24, "seed \(seed)")
        try #require(Timestamp(iso8601: text) == time, "seed \(seed): \(text)")
    }
}

@Test(
    "texts and the moments they stand for",
    arguments: [
        ("1970-01-01T00:00:00.000Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2000-02-29T12:00:00.000Z", 951_825_600_000),
        ("2024-02-29T00:00:00.000Z", 1_709_164_800_000),
        ("2026-06-15T12:34:56.789Z", 1_781_526_896_789),
        ("2038-01-19T03:14:08.000Z", 2_147_483_648_000),
        ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64)])
func timestampText(text: String, milliseconds: Int64) {
    #expect(Timestamp(milliseconds: milliseconds).iso8601 == text)
    #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
}

@Test("the calendar agrees with one counted day by day")
func calendarCountedByHand() throws {
    // From 1600 to 2400: two full cycles of the Gregorian calendar.
    var days: Int64 = -135_140
    for year in 1600...2400 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        for (month, length) in zip(1..., [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]) {
            for day in [1, length] {
                let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
                let text = "\(year)-\(two(month))-\(two(day))T00:00:00.000Z"
                let time = Timestamp(milliseconds: (days + Int64(day) - 1) * 86_400_000)
                try #require(time.iso8601 == text)
                try #require(Timestamp(iso8601: text) == time)
            }
            days += Int64(length)
        }
    }
}

@Test(
    "other ways to write the same moment",
    arguments: [
        ("2026-06-15T12:34:56Z", 1_781_526_896_000),
        ("2026-06-15t12:34:56z", 1_781_526_896_000),
        ("2026-06-15 12:34:56Z", 1_781_526_896_000),
        ("2026-06-15T12:34:56.7Z", 1_781_526_896_700),
        ("2026-06-15T12:34:56.78Z", 1_781_526_896_780),
        ("2026-06-15T12:34:56.7899999Z", 1_781_526_896_789),
        ("2026-06-15T14:34:56+02:00", 1_781_526_896_000),
        ("2026-06-15T07:04:56-05:30", 1_781_526_896_000),
        ("2026-06-16T12:33:56+23:59", 1_781_526_896_000),
        ("2026-06-15T12:34:60Z", 1_781_526_900_000),
        ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ] as [(String, Int64)])
func timestampVariants(text: String, milliseconds: Int64) {
    #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
}

@Test(
    "texts that are no time",
    arguments: [
        "", "Z", "2026", "2026-06-15", "2026-06-15T12:34Z", "2026-06-15T12:34:56", "2026-06-15T12:34:56.Z",
        "2026-06-15T12:34:56,7Z", "2026-06-15T12:34:56ZZ", " 2026-06-15T12:34:56Z", "2026-06-15T12:34:56Z ",
        "2026-13-15T12:34:56Z", "2026-00-15T12:34:56Z", "2026-06-31T12:34:56Z", "2026-06-00T12:34:56Z",
        "2026-02-29T12:34:56Z", "2100-02-29T12:34:56Z", "2026-06-15T24:00:00Z", "2026-06-15T12:60:00Z",
        "2026-06-15T12:34:61Z", "2026-06-15T12:34:56+2:00", "2026-06-15T12:34:56+0200",
        "2026-06-15T12:34:56+24:00",
        "2026-06-15T12:34:56+02:60", "2026-06-15T12:34:56+", "26-06-15T12:34:56Z", "+2026-06-15T12:34:56Z",
        "2026-06-15T12:34:-6Z", "2026-O6-15T12:34:56Z", "２０２６-06-15T12:34:56Z", "2026-06-15T12:34:56\u{0}Z",
        "2026-06-15T12:34:56.00000000000000000000000000000000000000000000000000000000000Z",
    ])
func noTimestamp(text: String) {
    #expect(Timestamp(iso8601: text) == nil)
}

@Test("years beyond four digits are clamped")
func timestampClamped() {
    #expect(Timestamp(milliseconds: .max).iso8601 == "9999-12-31T23:59:59.999Z")
    #expect(Timestamp(milliseconds: .min).iso8601 == "0000-01-01T00:00:00.000Z")
}

@Test("moments move without overflow")
func timestampAdvanced() {
    let time = Timestamp(milliseconds: 1000)
    #expect(time.advanced(bySeconds: 0.25).milliseconds == 1250)
    #expect(time.advanced(bySeconds: -2).milliseconds == -1000)
    #expect(time.advanced(bySeconds: 1e300).milliseconds == .max)
    #expect(time.advanced(bySeconds: -1e300).milliseconds == .min)
    #expect(time.advanced(bySeconds: -.infinity).milliseconds == .min)
    #expect(Timestamp(milliseconds: 2500).seconds(since: time) == 1.5)
    let now = BootInstant(nanoseconds: 5_000_000_000)
    #expect(now.advanced(bySeconds: 0.5).nanoseconds == 5_500_000_000)
    #expect(now.advanced(bySeconds: .infinity) > now)
    #expect(now.advanced(bySeconds: 1.5).seconds(since: now) == 1.5)
}
