import Base
import Foundation
import Support
import Testing
import Tracking

@testable import Envelope

/// A template that is made up, with what any record must become by it.
private indirect enum Model {
    case constant(String, value: any Sendable)
    case tag(TemplateTag)
    case string([Part])
    case array([Model])
    case object([(name: String, value: Model)])

    enum Part {
        case text(String)
        case tag(TemplateTag)

        var tag: TemplateTag? { if case .tag(let tag) = self { tag } else { nil } }
        var isEmpty: Bool { if case .text("") = self { true } else { false } }
    }
}

@Suite("whatever the template and the values, JSON with these values goes out")
struct TemplatePropertyTests {
    private static let texts = [
        "", "x", "\"", "\\", "\n\r\t\u{0}\u{1F}\u{7F}", "é", "😀", "\u{2028}", "</script>", "<", "%", "<%",
        "%>", "{}", "\u{FFFD}",
        "a\"b\\c", "\u{202E}", "-1", "null", "'", "/", "e\u{301}", "\u{FEFF}", "👩‍👩‍👧", "<%= event",
    ]
    private static let numbers: [(String, Double)] = [
        ("0", 0), ("-0", 0), ("1", 1), ("-1.5", -1.5), ("1e3", 1000), ("1E-3", 0.001), ("0.1e+2", 10),
        ("1.7976931348623157e308", .greatestFiniteMagnitude),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("5e-324", .leastNonzeroMagnitude), ("0e5", 0), ("0.000", 0),
    ]

    private func pick<Value>(_ values: [Value], using random: inout SeededGenerator) -> Value {
        values[Int.random(in: values.indices, using: &random)]
    }

    // MARK: Templates

    private func model(depth: Int, using random: inout SeededGenerator) -> Model {
        switch Int.random(in: 0..<(depth > 4 ? 4 : 6), using: &random) {
        case 0:
            let number = pick(Self.numbers, using: &random)
            return .constant(number.0, value: number.1)
        case 1:
            let constants: [(String, any Sendable)] = [("true", true), ("false", false), ("null", NSNull())]
            let constant = pick(constants, using: &random)
            return .constant(constant.0, value: constant.1)
        case 2: return .tag(pick(TemplateTag.allCases.filter { $0.kind != .text }, using: &random))
        case 3:
            return .string(
                (0..<Int.random(in: 0...3, using: &random)).map { _ in
                    Bool.random(using: &random)
                        ? .text(pick(Self.texts, using: &random))
                        : .tag(pick(TemplateTag.allCases, using: &random))
                })
        case 4: return .array(children(depth: depth, using: &random).map(\.value))
        default: return .object(children(depth: depth, using: &random))
        }
    }

    /// Names differ by more than their canonical form, which Foundation's dictionaries look at.
    private func children(
        depth: Int, using random: inout SeededGenerator
    ) -> [(name: String, value: Model)] {
        (0..<Int.random(in: depth == 0 ? 1...4 : 0...3, using: &random)).map { index in
            let text = pick(Self.texts, using: &random)
            return ("\(index)" + text, model(depth: depth + 1, using: &random))
        }
    }

    /// Any of the ways to write it.
    private func written(_ model: Model, using random: inout SeededGenerator) -> String {
        let space = ["", "", " ", "\n", " \t\r\n"]
        func gap() -> String { pick(space, using: &random) }
        func inner() -> String {
            switch model {
            case .constant(let text, _): text
            case .tag(let tag): tagged(tag, using: &random)
            case .string(let parts): string(parts, using: &random)
            case .array(let elements):
                "[" + elements.map { written($0, using: &random) }.joined(separator: ",") + gap() + "]"
            case .object(let members):
                "{"
                    + members.map { member in
                        gap() + string([.text(member.name)], using: &random) + gap() + ":"
                            + written(member.value, using: &random)
                    }.joined(separator: ",") + gap() + "}"
            }
        }
        return gap() + inner() + gap()
    }

    private func tagged(_ tag: TemplateTag, using random: inout SeededGenerator) -> String {
        let blank = pick(["", " ", "  ", "\t"], using: &random)
        return "<%=\(blank)\(tag.rawValue)\(blank)%>"
    }

    private func string(_ parts: [Model.Part], using random: inout SeededGenerator) -> String {
        "\""
            + parts.map { part in
                switch part {
                case .tag(let tag): tagged(tag, using: &random)
                case .text(let text): text.unicodeScalars.map { escaped($0, using: &random) }.joined()
                }
            }.joined() + "\""
    }

    private func escaped(_ scalar: Unicode.Scalar, using random: inout SeededGenerator) -> String {
        let short: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "/": "\\/",
        ]
        // Of <% and %>, one character is written with digits.
        let mustEscape = scalar.value < 0x20 || "\"\\%".unicodeScalars.contains(scalar)
        if let text = short[scalar], Bool.random(using: &random) { return text }
        guard mustEscape || Int.random(in: 0..<8, using: &random) == 0 else {
            return String(Character(scalar))
        }
        return String(Character(scalar)).utf16.map { String(format: "\\u%04X", $0) }.joined()
    }

    // MARK: Records

    private func number(using random: inout SeededGenerator) -> Double? {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: nil
        case 1: Double(bitPattern: random.next())
        case 2:
            pick(
                [.greatestFiniteMagnitude, -.leastNonzeroMagnitude, -0.0, .infinity, .nan, 1e21, 0.1 + 0.2],
                using: &random)
        case 3: Double(Int.random(in: -1000...1000, using: &random))
        default: Double.random(in: -1e4...1e4, using: &random)
        }
    }

    private func record(using random: inout SeededGenerator) throws -> TemplateRecord {
        let position = try #require(
            Coordinate(
                latitude: .random(in: -90...90, using: &random),
                longitude: .random(in: -180...180, using: &random)))
        let time = Timestamp(
            milliseconds: Int64(bitPattern: random.next()) >> Int64.random(in: 0...30, using: &random))
        let fix = Fix(
            time: time, mode: 3, coordinate: position, accuracy: number(using: &random),
            speed: number(using: &random),
            bearing: number(using: &random), altitude: number(using: &random), isMock: .random(using: &random)
        )
        var ids = UUIDv7Generator(using: &random)
        let battery = TemplateRecord.Battery(
            level: number(using: &random), isCharging: pick([nil, true, false], using: &random))
        let activity = pick([nil] + Activity.allCases.map(Optional.some), using: &random)
        let motion = pick(MotionState.allCases, using: &random)
        if Bool.random(using: &random) {
            let crossing = Crossing(
                geofence: pick(Self.texts, using: &random),
                kind: pick(Crossing.Kind.allCases, using: &random),
                time: time)
            let event = GeofenceEvent(
                id: ids.next(at: time), session: TemplateSamples.session, crossing: crossing,
                coordinate: pick([position, nil], using: &random), accuracy: number(using: &random))
            return TemplateRecord(event, odometer: number(using: &random), battery: battery)
        }
        return TemplateRecord(
            Location(
                id: ids.next(at: time), session: nil, fix: fix,
                trigger: pick(Trigger.allCases, using: &random),
                motion: motion, activity: activity, ignition: pick([nil, true, false], using: &random)),
            odometer: number(using: &random), battery: battery)
    }

    /// What a tag stands for, said by the manual's words and not by the format's code.
    private func expected(_ tag: TemplateTag, _ record: TemplateRecord, device: String) -> any Sendable {
        func finite(_ value: Double?, _ unknown: Double) -> Double {
            value.flatMap { $0.isFinite ? $0 : nil } ?? unknown
        }
        func coordinate(_ value: Double?) -> any Sendable { value.map { $0 as any Sendable } ?? NSNull() }
        func converted(_ speed: Double?, meters: Double) -> any Sendable {
            guard let speed else { return NSNull() }
            let cut = (speed * 3600 / meters * 1e6).rounded() / 1e6
            return cut.isFinite ? cut : NSNull()
        }
        let location = record.location
        let fix = location?.fix
        switch tag {
        case .latitude: return coordinate(record.coordinate?.latitude)
        case .longitude: return coordinate(record.coordinate?.longitude)
        case .speed: return finite(fix?.speed, -1)
        case .speedKmh: return converted(fix?.speed, meters: 1000)
        case .speedKnots: return converted(fix?.speed, meters: 1852)
        case .speedMph: return converted(fix?.speed, meters: 1609.344)
        case .heading: return finite(fix?.bearing, -1)
        case .accuracy: return finite(record.accuracy, -1)
        case .altitude: return finite(fix?.altitude, 0)
        case .odometer: return finite(record.odometer, 0)
        case .batteryLevel: return finite(record.battery.level, -1)
        case .activityConfidence: return 100.0
        case .isMoving:
            guard let motion = location?.motion, motion != .unknown else { return NSNull() }
            return motion == .moving
        case .mock: return fix?.isMock == true
        case .batteryIsCharging: return record.battery.isCharging == true
        case .timestamp: return record.time.iso8601
        case .timestampSeconds:
            let time = record.time.milliseconds
            return time / 1000 - (time % 1000 < 0 ? 1 : 0)
        case .timestampMilliseconds: return record.time.milliseconds
        case .uuid: return record.id.description
        case .event: return record.event.rawValue
        case .activityType:
            let names = [
                "stationary": "still", "walking": "on_foot", "cycling": "on_bicycle",
                "automotive": "in_vehicle",
            ]
            let name = location?.activity?.rawValue ?? "unknown"
            return names[name] ?? name
        case .geofenceIdentifier: return record.crossing?.geofence ?? ""
        case .geofenceAction: return record.crossing.map { $0.kind == .enter ? "ENTER" : "EXIT" } ?? ""
        case .geofenceReason: return record.reason?.rawValue ?? ""
        case .deviceID: return device
        case .installID: return device + "2"
        case .sessionID: return TemplateSamples.session.description
        case .ignition: return location?.ignition.map { $0 as any Sendable } ?? NSNull()
        }
    }

    /// A member of an object that is nothing but a tag for which there is neither a value nor one of the guide.
    private func isLeftOut(_ model: Model, _ record: TemplateRecord) -> Bool {
        func isUnknown(_ tag: TemplateTag) -> Bool {
            ![.latitude, .longitude].contains(tag) && expected(tag, record, device: "") is NSNull
        }
        switch model {
        case .tag(let tag): return isUnknown(tag)
        case .string(let parts):
            let tags = parts.compactMap(\.tag)
            return tags.count == 1 && tags.allSatisfy(isUnknown)
                && parts.allSatisfy { $0.tag != nil || $0.isEmpty }
        case .constant, .array, .object: return false
        }
    }

    private func matches(_ model: Model, _ value: JSON?, _ record: TemplateRecord, device: String) -> Bool {
        func same(_ expected: any Sendable) -> Bool {
            switch (expected, value) {
            case (let flag as Bool, .bool(let found)): found == flag
            case (let number as Double, .number(let found)): Double(found) == number
            case (let number as Int64, .number(let found)): found == "\(number)"
            case (let text as String, .string(let found)):
                found.unicodeScalars.elementsEqual(text.unicodeScalars)
            case (is NSNull, .null): true
            default: false
            }
        }
        switch model {
        case .constant(_, let constant): return same(constant)
        case .tag(let tag): return same(expected(tag, record, device: device))
        case .string(let parts):
            return same(
                parts.map { part in
                    switch part {
                    case .text(let text): return text
                    case .tag(let tag):
                        let value = expected(tag, record, device: device)
                        if value is NSNull { return "null" }
                        guard let number = value as? Double else { return "\(value)" }
                        let text = number == 0 ? "0" : "\(number)"
                        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
                    }
                }.joined())
        case .array(let elements):
            guard case .array(let values)? = value, values.count == elements.count else { return false }
            return zip(elements, values).allSatisfy { matches($0, $1, record, device: device) }
        case .object(let members):
            let present = members.filter { !isLeftOut($0.value, record) }
            guard case .object(let values)? = value, values.count == present.count else { return false }
            return present.allSatisfy { matches($0.value, values[$0.name], record, device: device) }
        }
    }

    private static let rounds = ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1" ? 200_000 : 2000

    @Test("random templates with random records")
    func random() throws {
        let seed = testSeed(UInt64.random(in: 0...UInt64.max))
        var random = SeededGenerator(seed: seed)
        for _ in 0..<Self.rounds {
            let record = try record(using: &random)
            var model: Model
            repeat {
                let members = children(depth: 0, using: &random)
                model = Bool.random(using: &random) ? .object(members) : .array(members.map(\.value))
            } while record.crossing == nil && written(model, using: &random).contains("geofence.")
            let text = written(model, using: &random)
            let device = pick(Self.texts, using: &random)
            let shape: TemplateShape
            do {
                shape = try TemplateSamples.shape(
                    record.crossing == nil ? text : "[1]", geofence: record.crossing == nil ? "[1]" : text,
                    rootProperty: ".", extras: .none, batchSize: 1)
            } catch let fault as TemplateFault {
                Issue.record("BEEKOND_SEED=\(seed): \(fault) in \(text)")
                return
            }
            let body = try TemplateSamples.body(shape, [record], deviceID: device, installID: device + "2")
            try #require(
                (try? JSONSerialization.jsonObject(with: Data(body.utf8))) != nil,
                "BEEKOND_SEED=\(seed): \(body)")
            try #require(
                matches(model, JSONReader.read(Array(body.utf8)), record, device: device),
                "BEEKOND_SEED=\(seed): \(text) became \(body)")
        }
    }

    @Test("any text with one byte changed is an error or a template whose output is JSON")
    func damaged() throws {
        let seed = testSeed(UInt64.random(in: 0...UInt64.max))
        var random = SeededGenerator(seed: seed)
        let bytes = Array("<%= >{}[]\",:\\u0dn-+.1etrufalsn \n".utf8)
        var loaded = 0
        for _ in 0..<Self.rounds {
            var text = Array(Template.Kind.geofence.guideText.utf8)
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[place] = pick(bytes, using: &random)
                case 1: text.remove(at: place)
                default: text.insert(pick(bytes, using: &random), at: place)
                }
            }
            guard let template = String(validating: text, as: UTF8.self) else { continue }
            let record = try record(using: &random)
            guard record.crossing != nil,
                let shape = try? TemplateSamples.shape(geofence: template, rootProperty: ".", batchSize: 1)
            else { continue }
            loaded += 1
            let body = try TemplateSamples.body(shape, [record], extras: #"{"a":"b"}"#)
            try #require(
                (try? JSONSerialization.jsonObject(with: Data(body.utf8))) != nil,
                "BEEKOND_SEED=\(seed): \(template) became \(body)")
        }
        #expect(loaded > Self.rounds / 100)
    }
}
