import Support
import Testing

@testable import Base

private let time = Timestamp(milliseconds: 1_781_526_896_789)

@Test("an id reads back from its text, in either case, and from its bytes", arguments: [UInt64(1), 2])
func uuidRoundTrip(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<1000 {
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        let id = try #require(UUIDv7(bytes: bytes))
        try #require(id.bytes == bytes)
        try #require(UUIDv7(id.description) == id)
        try #require(UUIDv7(id.description.uppercased()) == id)
        var text: [UInt8] = []
        id.append(to: &text)
        try #require(text == Array(id.description.utf8))
    }
}

@Test("ids and times are written like by the slow reference, and nothing beyond them")
func textForms() throws {
    let seed = testSeed(UInt64.random(in: 0...UInt64.max))
    var random = SeededGenerator(seed: seed)
    func text(_ size: Int, _ write: (UnsafeMutableRawBufferPointer) -> Void) throws -> String {
        var room = [UInt8](repeating: 0xAA, count: size + 8)
        room.withUnsafeMutableBytes(write)
        try #require(Array(room[size...]) == [UInt8](repeating: 0xAA, count: 8))
        return String(decoding: room[..<size], as: UTF8.self)
    }
    func padded(_ value: some BinaryInteger, _ size: Int, radix: Int = 10) -> String {
        let digits = String(value, radix: radix)
        return String(repeating: "0", count: size - digits.count) + digits
    }
    for _ in 0..<20_000 {
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        let id = try #require(UUIDv7(bytes: bytes))
        let hex = bytes.map { padded($0, 2, radix: 16) }
        let groups = [hex[..<4], hex[4..<6], hex[6..<8], hex[8..<10], hex[10...]].map { $0.joined() }
        let written = try text(UUIDv7.textSize) { id.put(into: $0) }
        try #require(written == groups.joined(separator: "-"), "BEEKOND_SEED=\(seed)")
        // Every day from 1970 to 2199, one by one, without any calendar arithmetic shared with the code under test.
        let moment = Int64.random(in: 0..<7_258_118_400_000, using: &random)
        var (year, month, day) = (1970, 0, Int(moment / 86_400_000))
        func isLeap(_ year: Int) -> Bool { year % 4 == 0 && year % 100 != 0 || year % 400 == 0 }
        while day >= (isLeap(year) ? 366 : 365) {
            day -= isLeap(year) ? 366 : 365
            year += 1
        }
        let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        while day >= lengths[month] {
            day -= lengths[month]
            month += 1
        }
        let seconds = moment / 1000 % 86_400
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }
        let expected =
            "\(year)-\(padded(month + 1, 2))-\(padded(day + 1, 2))T\(clock.joined(separator: ":"))"
            + ".\(padded(moment % 1000, 3))Z"
        let time = Timestamp(milliseconds: moment)
        try #require(
            try text(Timestamp.textSize) { time.putISO8601(into: $0) } == expected, "BEEKOND_SEED=\(seed)")
    }
}

@Test("version, variant and time are where RFC 9562 puts them")
func uuidLayout() throws {
    // The example in RFC 9562, appendix A.6.
    let id = UUIDv7(
        time: Timestamp(milliseconds: 0x017F_22E2_79B0), counter: (high: 0xCC3, low: 0x18C4_DC0C_0C07_398F))
    #expect(id.description == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    var random = SeededGenerator(seed: 7)
    var generator = UUIDv7Generator(using: &random)
    for _ in 0..<1000 {
        let bytes = generator.next(at: time).bytes
        try #require(bytes[6] >> 4 == 7)
        try #require(bytes[8] >> 6 == 0b10)
        try #require(bytes[..<6].reduce(0) { $0 << 8 | Int64($1) } == time.milliseconds)
    }
}

@Test(
    "texts that are no id",
    arguments: [
        "", "017f22e2", "017f22e279b07cc398c4dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398",
        "017f22e2-79b0-7cc3-98c4-dc0c0c07398ff", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
        "017f22e2_79b0-7cc3-98c4-dc0c0c07398f", "017f22e-279b0-7cc3-98c4-dc0c0c07398f",
        "{17f22e2-79b0-7cc3-98c4-dc0c0c07398}", "017f22e2-79b0-7cc3-98c4-dc0c0c0739é",
    ])
func noUUID(text: String) {
    #expect(UUIDv7(text) == nil)
}

@Test("sixteen bytes and no other number make an id", arguments: [0, 1, 15, 17, 32])
func uuidByteCount(count: Int) {
    #expect(UUIDv7(bytes: [UInt8](repeating: 1, count: count)) == nil)
}

@Test("ids of one run increase strictly, even within a millisecond and across a carry")
func uuidIncreases() throws {
    var random = SeededGenerator(seed: 3)
    var generator = UUIDv7Generator(using: &random)
    var last = generator.next(at: time)
    for index in 0..<10_000 {
        let next = generator.next(at: Timestamp(milliseconds: time.milliseconds + Int64(index / 100)))
        try #require(next > last)
        last = next
    }
    // Start just below the carry from the low 62 bits into the high 12.
    var full = AllOnes()
    var carrying = UUIDv7Generator(using: &full)
    let before = carrying.next(at: time)
    #expect(carrying.next(at: time) > before)
    #expect(before.bytes[6] == 0x78, "the low part has started again, and the high part counts one more")
}

@Test("generators of different runs share no id")
func uuidGeneratorsApart() {
    var random = SystemRandomNumberGenerator()
    var seen: Set<UUIDv7> = []
    for _ in 0..<100 {
        var generator = UUIDv7Generator(using: &random)
        for _ in 0..<100 { seen.insert(generator.next(at: time)) }
    }
    #expect(seen.count == 10_000)
}

private struct AllOnes: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}
