import Support
import Testing

@testable import Base

/// The content of a file of `ZoneTables`.
private func file(_ name: String) throws -> [UInt8] {
    let digits = try #require(ZoneTables.files[name]).filter { !$0.isWhitespace }.map { $0 }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
}

private func moment(_ second: Int64) -> Timestamp { Timestamp(milliseconds: second * 1000) }

@Test(
    "offsets and transitions of three zones from 1990 to 2060 are those of Python's zoneinfo",
    arguments: ZoneTables.transitions.keys.sorted())
func zoneTransitions(name: String) throws {
    let rules = try TimeZoneRules(tzif: file(name))
    let table = try #require(ZoneTables.transitions[name]).split { $0.isWhitespace }.map { word in
        let parts = word.split(separator: ":")
        return (second: Int64(parts[0]) ?? 0, offset: Int(parts[1]) ?? 0)
    }
    #expect(table.count == 140 || name == "Australia/Lord_Howe")
    var before: (second: Int64, offset: Int)?
    for next in table {
        if let before {
            for second in [
                before.second, before.second + 1, (before.second + next.second) / 2, next.second - 1,
            ] {
                #expect(rules.offset(at: moment(second)) == before.offset, "\(second)")
                #expect(rules.nextTransition(after: moment(second)) == moment(next.second), "\(second)")
            }
        }
        before = next
    }
}

@Test("a fraction of a second before a transition is before it")
func zoneFraction() throws {
    let rules = try TimeZoneRules(tzif: file("Europe/Berlin"))
    #expect(rules.offset(at: Timestamp(milliseconds: 1_774_746_000_000 - 1)) == 3600)
    #expect(rules.offset(at: Timestamp(milliseconds: 1_774_746_000_000)) == 7200)
    #expect(rules.offset(at: Timestamp(milliseconds: .min)) == 3600)
    // Far beyond all calendars: whatever it is, it is an offset of the zone.
    #expect([3600, 7200].contains(rules.offset(at: Timestamp(milliseconds: .max))))
    #expect(TimeZoneRules.utc.offset(at: moment(0)) == 0)
    #expect(TimeZoneRules.utc.nextTransition(after: moment(0)) == nil)
}

/// Expected: moments of 2026 and 2027 at which the offset changes, and to what; `date -d @… ` with TZ agrees.
@Test(
    "rules as in the footers of real files",
    arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", [1_774_746_000, 1_792_890_000], [7200, 3600]),
        ("EST5EDT,M3.2.0,M11.1.0", [1_772_953_200, 1_793_512_800], [-14_400, -18_000]),
        ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", [1_775_314_800, 1_791_041_400], [37_800, 39_600]),
        // Dublin: winter time is the exception.
        ("IST-1GMT0,M10.5.0,M3.5.0/1", [1_774_746_000, 1_792_890_000], [3600, 0]),
        // Nuuk: the hour of the change is on the day before.
        ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", [1_774_746_000, 1_792_890_000], [-3600, -7200]),
        // Gaza: up to a week after the day.
        ("EET-2EEST,M3.4.4/50,M10.4.4/50", [1_774_656_000, 1_792_796_400], [10_800, 7200]),
        ("XXX-2YYY,J60/0,J300/0", [1_772_316_000, 1_793_048_400], [10_800, 7200]),
        ("XXX-2YYY,59/0,299/0", [1_772_316_000, 1_793_048_400], [10_800, 7200]),
        // Daylight saving time all year: RFC 9636 3.3.1.
        ("XXX3EDT4,0/0,J365/23", [], []),
        ("UTC0", [], []),
    ] as [(String, [Int64], [Int])])
func rules(text: String, seconds: [Int64], offsets: [Int]) throws {
    let rule = try #require(POSIXTimeZone(text.utf8))
    var at: Int64 = 1_767_225_600
    for (second, offset) in zip(seconds, offsets) {
        #expect(rule.change(after: at) == second)
        #expect(rule.offset(at: second) == offset)
        #expect(rule.offset(at: second - 1) != offset)
        at = second
    }
    if seconds.isEmpty { #expect(rule.change(after: at) == nil) }
}

@Test("daylight saving time that lasts all year is never interrupted")
func allYear() throws {
    let rule = try #require(POSIXTimeZone("XXX3EDT4,0/0,J365/23".utf8))
    for hour in -48...48 { #expect(rule.offset(at: 1_798_776_000 + Int64(hour) * 3600) == -14_400) }
}

@Test(
    "what is no rule",
    arguments: [
        "", "CET", "CE-1", "CET-25", "CET-1CEST", "CET-1CEST,", "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,M10.5.0", "CET-1CEST,366,0",
        "CET-1CEST,M3.5.0/168,M10.5.0", "<CET-1", "CET-1CEST,M3.5.0,M10.5.0x", "CET-1:60",
        String(repeating: "C", count: 200) + "-1",
    ])
func noRule(text: String) {
    #expect(POSIXTimeZone(text.utf8) == nil)
}

@Test("damaged files are refused, at every length and with every byte changed; none crashes")
func damagedZones() throws {
    let whole = try file("America/New_York")
    for length in 0..<whole.count {
        #expect(throws: TimeZoneRules.Flaw.self) { try TimeZoneRules(tzif: Array(whole.prefix(length))) }
    }
    var random = SeededGenerator(seed: testSeed(17))
    for position in whole.indices {
        var bytes = whole
        bytes[position] = UInt8.random(in: 0...255, using: &random)
        guard let rules = try? TimeZoneRules(tzif: bytes) else { continue }
        for second: Int64 in [.min / 1000, -1, 0, 1_774_746_000, 4_102_444_800, .max / 1000] {
            #expect(abs(rules.offset(at: moment(second))) <= 93_600)
            _ = rules.nextTransition(after: moment(second))
        }
    }
    var leaps = whole
    leaps[54 + 31] = 1
    #expect(throws: TimeZoneRules.Flaw(description: "counts leap seconds: use a zone outside right/")) {
        try TimeZoneRules(tzif: leaps)
    }
    #expect(throws: TimeZoneRules.Flaw.self) {
        try TimeZoneRules(tzif: [UInt8](repeating: 0x54, count: 70_000))
    }
}
