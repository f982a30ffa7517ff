import Support
import Testing

@testable import Tracking

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

@Test("version, variant and time stand where RFC 9562 wants them")
func uuidLayout() throws {
    // The example of RFC 9562, appendix A.6.
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

@Test("ids of one run count up strictly, also within a millisecond and across a carry")
func uuidIncreases() throws {
    var random = SeededGenerator(seed: 3)
    var generator = UUIDv7Generator(using: &random)
    var last = generator.next(at: time)
    for index in 0..<10_000 {
        let next = generator.next(at: Timestamp(milliseconds: time.milliseconds + Int64(index / 100)))
        try #require(next > last)
        last = next
    }
    // A start just below the carry from the low 62 bits into the high 12.
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
