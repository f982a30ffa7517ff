import Base
import Foundation
import Support
import Testing
import Tracking

@testable import Envelope

@Suite("numbers and texts of an upload")
struct NumberTests {
    /// What the payload makes of a number, seen through a field that takes any.
    private func text(_ value: Double) throws -> String {
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        let coordinate = try #require(Coordinate(latitude: 1, longitude: 2))
        let fix = Fix(time: Timestamp(milliseconds: 0), mode: 3, coordinate: coordinate, altitude: value)
        var payload = BeekonPayload(
            device: Device(installID: "i", platform: "linux", version: "1", model: nil))
        let bytes = payload.encode(
            batch: id, session: id, sentAt: Timestamp(milliseconds: 0), extras: nil,
            locations: [Location(id: id, session: id, fix: fix, trigger: .interval, motion: .unknown)])
        let text = String(decoding: bytes, as: UTF8.self)
        let range = try #require(text.range(of: "\"altitude\":"))
        return String(text[range.upperBound...].prefix { $0 != "}" })
    }

    private static let extremes: [Double] = [
        .greatestFiniteMagnitude, .leastNormalMagnitude, .leastNonzeroMagnitude, .ulpOfOne, .pi, 1 / 3,
        9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_994, 1e15, 1e16, 1e17, 1e20, 1e21,
        1e22,
        1e23, 1e100, 1e-4, 1e-5, 1e-6, 1e-7, 123_456_789_012_345_680, 4.35, 0.1 + 0.2, 2.5, 180, 1e5,
        0.5, 1.0.nextUp, 1.0.nextDown,
    ]

    /// Fractions that positions and speeds have, and any bit pattern.
    private static let doubles: [Double] = {
        var random = SeededGenerator(seed: 11)
        let patterns = (0..<5000).map { _ in Double(bitPattern: random.next()) }.filter(\.isFinite)
        let degrees = (0..<5000).map { _ in Double.random(in: -180...180, using: &random) }
        let decimals = (0..<5000).map { _ in
            Double(Int.random(in: -10_000_000...10_000_000, using: &random)) / 1000
        }
        return (extremes + patterns + degrees + decimals).flatMap { [$0, -$0] }
    }()

    @Test("every number is JSON, and reads back as the same Double")
    func roundTrip() throws {
        let grammar = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
        for value in Self.doubles {
            let text = try text(value)
            #expect(text.wholeMatch(of: grammar) != nil, "\(text)")
            #expect(strtod(text, nil) == value, "\(text)")
            #expect(!text.hasSuffix(".0"), "\(text)")
        }
    }

    @Test("no shorter text reads back as the same Double")
    func shortest() throws {
        for value in Self.doubles.prefix(4000) {
            let digits = try text(value).prefix { $0 != "e" }.filter(\.isNumber)
            let significant = String(digits.drop { $0 == "0" }.reversed().drop { $0 == "0" })
            guard significant.count > 1 else { continue }
            let shorter = String(format: "%.\(significant.count - 2)e", value)
            #expect(strtod(shorter, nil) != value, "\(value)")
        }
    }

    /// Rounds of the test below; BEEKOND_LONG=1 makes it forty million numbers.
    private static let rounds =
        ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1" ? 4_000_000 : 40_000

    @Test("numbers are those of the standard library, without the point of integral ones")
    func description() throws {
        let seed = testSeed(UInt64.random(in: 0...UInt64.max))
        var random = SeededGenerator(seed: seed)
        func check(_ value: Double) throws {
            let usual = value.description
            let expected = value == 0 ? "0" : usual.hasSuffix(".0") ? String(usual.dropLast(2)) : usual
            let written = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { room in
                var writer = FixedBufferWriter(room)
                writer.put(value)
                return String(decoding: writer.written, as: UTF8.self)
            }
            try #require(written == expected, "BEEKOND_SEED=\(seed), \(value.bitPattern)")
        }
        // The ends of the range in which no search for the shortest text is needed.
        for end in [0.001, 1e6, 999_999.999_999_999, 0.001_000_001, 1e-9, 5e-10, 1e15 / 1e9] {
            for value in [end, end.nextUp, end.nextDown, -end, -end.nextUp, -end.nextDown] {
                try check(value)
            }
        }
        for _ in 0..<Self.rounds {
            let decimals = pow(10, Double(Int.random(in: 0...12, using: &random)))
            let digits = pow(10, Double(Int.random(in: 1...17, using: &random)))
            let decimal = (Double.random(in: -1...1, using: &random) * digits).rounded() / decimals
            for value in [decimal, decimal.nextUp, decimal.nextDown] { try check(value) }
            for bound in [1e-3, 1, 180, 1e6, 1e7, 1e17] {
                try check(Double.random(in: -bound...bound, using: &random))
            }
            let pattern = Double(bitPattern: random.next())
            if pattern.isFinite { try check(pattern) }
        }
    }

    @Test("the longest location has room, and what is behind stays as it was")
    func longest() throws {
        let id = try #require(UUIDv7("ffffffff-ffff-ffff-ffff-ffffffffffff"))
        let long = -Double.greatestFiniteMagnitude.nextDown
        let coordinate = try #require(
            Coordinate(latitude: -1.234_567_890_123_456_7e-300, longitude: -1e-200 / 3))
        let fix = Fix(
            time: Timestamp(milliseconds: .max), mode: 3, coordinate: coordinate, accuracy: long, speed: long,
            bearing: long, altitude: long)
        let location = Location(
            id: id, session: id, fix: fix, trigger: .checkIn, motion: .stationary, activity: .automotive,
            quality: .implausibleSpeed)
        var payload = BeekonPayload(
            device: Device(installID: "i", platform: "linux", version: "1", model: nil))
        func size(_ count: Int) -> Int {
            payload.encode(
                batch: id, session: id, sentAt: Timestamp(milliseconds: 0), extras: nil,
                locations: Array(repeating: location, count: count)
            ).count
        }
        #expect(size(2) - size(1) - 1 <= 570)
    }

    @Test(
        "integral numbers have no point, and minus zero is zero",
        arguments: [
            (180.0, "180"), (-0.0, "0"), (0.0, "0"), (-3.0, "-3"), (1e5, "100000"), (0.1, "0.1"),
            (123_456.789, "123456.789"), (0.1 + 0.2, "0.30000000000000004"),
            (9_007_199_254_740_991, "9007199254740991"),
        ])
    func table(value: Double, expected: String) throws {
        #expect(try text(value) == expected)
    }

    @Test("texts are escaped where JSON asks for it, and nowhere else")
    func escaping() {
        let all = String(String.UnicodeScalarView((0..<0x80).map { Unicode.Scalar($0)! }))
        var bytes: [UInt8] = []
        JSONString.append(all + "é😀\u{2028}\u{FFFF}\u{202E}", to: &bytes)
        let controls = (0..<0x20).map { String(format: "\\u%04x", $0) }.joined()
        let printable = all.unicodeScalars.dropFirst(0x20).map { scalar in
            scalar == "\"" || scalar == "\\" ? "\\" + String(scalar) : String(scalar)
        }.joined()
        #expect(
            String(decoding: bytes, as: UTF8.self) == "\"\(controls)\(printable)é😀\u{2028}\u{FFFF}\u{202E}\"")
    }

    @Test("texts from outside read back as they were", arguments: ["installID", "platform", "model"])
    func device(field: String) throws {
        let nasty = "\"},\"locations\":[{}],\"x\":{\"\\\n\r\t\0\u{1F}é😀\u{7F}"
        var device = Device(installID: "i", platform: "linux", version: "1", model: "m")
        switch field {
        case "installID": device.installID = nasty
        case "platform": device.platform = nasty
        default: device.model = nasty
        }
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        var payload = BeekonPayload(device: device)
        let bytes = payload.encode(
            batch: id, session: id, sentAt: Timestamp(milliseconds: 0), extras: nil, locations: [])
        let root = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
        let written = root?["device"] as? [String: String]
        #expect(written?[["installID": "install_id"][field] ?? field] == nasty)
        #expect(root?.count == 7)
        #expect((root?["locations"] as? [Any])?.isEmpty == true)
    }

    @Test("extras are sent as they were stored, to the byte")
    func verbatim() throws {
        let extras = "{ \"b\" : 1.0e0,\n\"a\":[null, \"\\u00e9\"] }"
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        var payload = BeekonPayload(
            device: Device(installID: "i", platform: "linux", version: "1", model: nil))
        let bytes = payload.encode(
            batch: id, session: id, sentAt: Timestamp(milliseconds: 0), extras: extras, locations: [])
        #expect(String(decoding: bytes, as: UTF8.self).contains(",\"extras\":\(extras),\"locations\":[],"))
    }

    @Test("the keys of an object stand in the order of their code points, however they came")
    func order() {
        let keys = ["b", "a", "ab", "Z", "", "é", "e\u{301}x", "😀", "\u{FFFD}", "~", "\""]
        let values = Dictionary(uniqueKeysWithValues: keys.map { ($0, "v") })
        let expected = ["", "\\\"", "Z", "a", "ab", "b", "e\u{301}x", "~", "é", "\u{FFFD}", "😀"]
        #expect(
            JSONString.object(values) == "{" + expected.map { "\"\($0)\":\"v\"" }.joined(separator: ",") + "}"
        )
        #expect(JSONString.object([:]) == nil)
    }
}
