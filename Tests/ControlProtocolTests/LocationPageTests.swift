import Support
import Testing

@testable import ControlProtocol

@Suite("pages of locations without JSONEncoder and JSONDecoder")
struct LocationPageTests {
    private func encoded(_ page: [Wire.Location], continues: Bool) throws -> [UInt8] {
        try Reply.encode(Wire.GetLocations.self, .init(locations: page), continues: continues)
    }

    private func location(_ random: inout SeededGenerator) -> Wire.Location {
        func number() -> Double {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: 0
            case 1: -0.0
            case 2: Double(Int.random(in: -1000...1000, using: &random))
            case 3: Double.random(in: -180...180, using: &random)
            case 4: Double.random(in: -1...1, using: &random) * 1e-7
            default: Double.random(in: -1...1, using: &random) * 1e24
            }
        }
        func text() -> String {
            [
                "interval", "", "mö", "\u{1F6F0}", "a \"b\"", "back\\slash", "\u{8}\n\u{1}", "/",
                "\u{7F}\u{85}",
            ].randomElement(
                using: &random) ?? ""
        }
        func maybe<Value>(_ value: Value) -> Value? { Bool.random(using: &random) ? value : nil }
        return Wire.Location(
            id: text(), sessionId: maybe(text()), timestamp: text(), trigger: text(), motion: text(),
            isMock: Bool.random(using: &random), latitude: number(), longitude: number(),
            accuracy: maybe(number()),
            speed: maybe(number()), bearing: maybe(number()), altitude: maybe(number()),
            activity: maybe(text()),
            quality: maybe(text()))
    }

    @Test("the bytes equal those of JSONEncoder, and decode as with JSONDecoder")
    func equality() throws {
        var random = SeededGenerator(seed: testSeed(8))
        for _ in 0..<2000 {
            let page = (0..<Int.random(in: 0...3, using: &random)).map { _ in location(&random) }
            let continues = Bool.random(using: &random)
            let bytes = try Reply.encode(page: page, continues: continues)
            #expect(bytes == (try encoded(page, continues: continues)))
            let reply = try Reply(decoding: bytes.dropLast())
            #expect(reply.continues == continues)
            #expect(try reply.result(of: Wire.GetLocations.self).locations == page)
        }
    }

    @Test("an ordinary location is parsed without JSONDecoder")
    func isRead() throws {
        let bytes = try encoded([Samples.location, Samples.bareLocation], continues: true)
        let page = try #require(LocationPage(bytes.dropLast()))
        #expect(page.locations == [Samples.location, Samples.bareLocation])
        #expect(page.continues)
    }

    @Test("a page truncated or damaged anywhere decodes as with JSONDecoder, or not at all")
    func damage() throws {
        let whole = Array(try encoded([Samples.location, Samples.bareLocation], continues: false).dropLast())
        for index in whole.indices {
            #expect(LocationPage(Array(whole[..<index])) == nil)
            for byte in [
                UInt8(ascii: "x"), UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "}"), 0, 0xFF,
            ] {
                var damaged = whole
                damaged[index] = byte
                guard let page = LocationPage(damaged) else { continue }
                let slow = try MessageCheck.decode(Slow.self, damaged)
                #expect(slow.parameters.locations == page.locations, "byte \(index) is \(byte)")
            }
        }
    }

    @Test("a number that is not finite cannot be encoded")
    func finite() {
        var odd = Samples.bareLocation
        odd.latitude = .nan
        #expect(throws: (any Error).self) { try Reply.encode(page: [odd], continues: false) }
    }

    private struct Slow: Decodable {
        let parameters: Wire.GetLocations.Result
    }
}
