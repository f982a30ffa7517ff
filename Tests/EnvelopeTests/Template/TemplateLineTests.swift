import Base
import Foundation
import Support
import Testing
import Tracking

@testable import Envelope

@Suite("templates that are lines of InfluxDB")
struct TemplateLineTests {
    private static let time = "<%= timestamp.milliseconds %>"

    private func line(
        _ template: String, _ record: TemplateRecord = TemplateRecord(TemplateSamples.location()),
        extras: String? = nil
    ) throws -> String {
        let isEvent = record.crossing != nil
        let own = try Template(template, for: isEvent ? .geofence : .location, as: .text)
        let shape = try TemplateShape(
            params: BodyFields(), batchSize: 100,
            location: isEvent ? Template("a b=1 \(Self.time)", for: .location, as: .text) : own,
            geofence: isEvent ? own : nil)
        return try TemplateSamples.body(shape, [record], extras: extras)
    }

    @Test(
        "what is known, to the byte",
        arguments: [
            ("m lat=<%= latitude %> T", "m lat=37.7749 1781526850000"),
            ("m,d=<%= device_id %>  lat=<%= latitude %>  T \n", "m,d=truck-12 lat=37.7749 1781526850000"),
            ("m a=1,v=<%= speed %>i,w=<%= longitude %>i T", "m a=1,v=3i,w=-122i 1781526850000"),
            (
                "m v=<%= timestamp.seconds %>i,w=<%= timestamp.milliseconds %>i T",
                "m v=1781526850i,w=1781526850000i 1781526850000"
            ),
            (
                #"m a="x <%= event %>\"\\ é",b=<%= is_moving %> T"#,
                #"m a="x motionchange\"\\ é",b=true 1781526850000"#
            ),
            (
                #"m\ \,=,a\ \,\==b\ \,\= c\ \,\==-1.5e3,d=5i,e=true T"#,
                #"m\ \,=,a\ \,\==b\ \,\= c\ \,\==-1.5e3,d=5i,e=true 1781526850000"#
            ),
            (
                "m,a=<%= activity.type %>-<%= speed %>,b=<%= is_moving %> c=1 T",
                "m,a=in_vehicle-2.5,b=true c=1 1781526850000"
            ),
            ("m a=1 T000000", "m a=1 1781526850000000000"),
            ("m a=1 <%= timestamp.seconds %>", "m a=1 1781526850"),
            ("m a=1 <%= timestamp.seconds %>000000000", "m a=1 1781526850000000000"),
            (
                "m k=<%= speed.kmh %>,n=<%= speed.knots %>,p=<%= speed.mph %>,a=1 T",
                "m k=9,n=4.859611,p=5.592341,a=1 1781526850000"
            ),
        ])
    func known(template: String, expected: String) throws {
        #expect(try line(template.replacing("T", with: Self.time)) == expected + "\n")
    }

    @Test(
        "what is unknown takes nothing with it but its own name and a comma",
        arguments: [
            ("m v=<%= speed %>,a=1 T", "m a=1"), ("m a=1,v=<%= speed %> T", "m a=1"),
            ("m a=1,v=<%= speed %>i,b=2 T", "m a=1,b=2"),
            ("m v=<%= speed %>,w=<%= heading %>,a=1,x=<%= altitude %>,y=<%= accuracy %> T", "m a=1"),
            (#"m v="<%= speed.kmh %>",a=1,b="<%= activity.type %>",c=<%= is_moving %> T"#, "m a=1"),
            ("m,v=<%= speed %>,d=<%= device_id %>,e=<%= event %> a=1 T", "m,d=truck-12 a=1"),
            ("m,e=<%= event %> a=1 T", "m a=1"),
            // With more beside it, it is what the SDK has for it.
            (#"m v="<%= speed %> m/s",a=1 T"#, #"m v="-1 m/s",a=1"#),
            ("m,v=a<%= speed %> a=1 T", "m,v=a-1 a=1"),
        ])
    func unknown(template: String, expected: String) throws {
        let text = try line(template.replacing("T", with: Self.time), TemplateRecord(TemplateSamples.bare))
        #expect(text == expected + " 1781526850000\n")
    }

    @Test("extras become fields whose names and texts are escaped, and take none of the line's")
    func extras() throws {
        let extras =
            #"{"a b":"x\"y\\z\n","n":1.5,"b":true,"no":null,"o":{},"v":"2","d":"3","time":"4","":"5","q\"\\,":"6"}"#
        let text = try line("m,d=1 v=1 \(Self.time)", extras: extras)
        #expect(text == #"m,d=1 v=1,a\ b="x\"y\\z ",n=1.5,b=true,q'/\,="6" 1781526850000"# + "\n")
    }

    @Test("a record a line, by time, events with locations")
    func several() throws {
        let shape = try TemplateShape(
            params: BodyFields(), batchSize: 100,
            location: Template("p lat=<%= latitude %> \(Self.time)", for: .location, as: .text),
            geofence: Template(
                "f,n=<%= geofence.identifier %> a=\"<%= geofence.action %>\" \(Self.time)", for: .geofence,
                as: .text))
        let records = [
            TemplateRecord(TemplateSamples.location()),
            TemplateRecord(TemplateSamples.event("a, b=\"c\\d\n")),
        ]
        #expect(
            try TemplateSamples.body(shape, records)
                == "f,n=a\\,\\ b\\=\"c/d\\  a=\"EXIT\" 1781526845000\np lat=37.7749 1781526850000\n")
        #expect(shape.identity.hasSuffix(" 4 text"))
    }

    @Test("names of the vehicle are escaped as well")
    func names() throws {
        let template = #"m,d=<%= device_id %> i="<%= install_id %>",e="<%= device_id %>" \#(Self.time)"#
        let shape = try TemplateShape(
            params: BodyFields(), batchSize: 1, location: Template(template, for: .location, as: .text),
            geofence: nil)
        let text = try TemplateSamples.body(
            shape, [TemplateRecord(TemplateSamples.location())], deviceID: "a \"\\", installID: "b,\"\\")
        #expect(text == #"m,d=a\ "/ i="b,\"\\",e="a \"\\" 1781526850000"# + "\n")
    }

    @Test("times that no line can have are the nearest that one can", arguments: [Int64.min, .max])
    func bounds(milliseconds: Int64) throws {
        let record = TemplateRecord(
            TemplateSamples.location { $0.fix.time = Timestamp(milliseconds: milliseconds) })
        let limit = milliseconds < 0 ? "-9223372036854775806" : "9223372036854775806"
        #expect(try line("m a=1 \(Self.time)000000", record) == "m a=1 \(limit)\n")
        #expect(try line("m a=1 <%= timestamp.seconds %>000000000", record) == "m a=1 \(limit)\n")
    }

    private static let faults: [(reason: String, templates: [String])] = [
        ("this is JSON", ["‸{\"a\": 1}", " ‸[1]"]),
        ("is a comment", ["‸# m a=1 T"]),
        ("the measurement is missing", ["‸,a=1 b=2 T"]),
        ("the line ends after", ["m‸", "m,a‸", "m a‸"]),
        ("a space and fields must follow", ["m,a=1‸", "m,a=<%= device_id %>‸"]),
        ("a name is missing", ["m,‸=1 a=1 T", "m ‸=1 T", "m a=1,‸=2 T"]),
        ("after a name, = and a value", ["m,a‸ b=1 T", "m a‸ b=1 T", "m a=1,b‸ c=1 T", "m,a‸,b=1 c=1 T"]),
        (
            "cannot stand in a name",
            [
                "‸<%= event %> a=1 T", "m‸<%= event %> a=1 T", "m,‸<%= event %>=1 a=1 T",
                "m a‸<%= event %>=1 T",
            ]
        ),
        ("InfluxDB's own", ["m,‸time=1 a=1 T", "m ‸time=1 T", "m ‸_field=1 T"]),
        ("stands twice", ["m,a=1,‸a=2 b=1 T", "m,a=1 ‸a=2 T", "m a=1,‸a=2 T", "m a\\ b=1,‸a\\ b=2 T"]),
        ("the value of a tag is missing", ["m,a=‸ b=1 T", "m,a=‸,b=1 c=1 T"]),
        ("an equals sign ends no tag", ["m,a=b‸=c d=1 T"]),
        (
            "before a comma, a space or an equals",
            ["m‸\\x a=1 T", "m,a=b‸\\\\ c=1 T", "m,a=‸\\<%= event %> c=1 T"]
        ),
        ("around the texts of fields alone", ["m,a=‸\"b\" c=1 T", "‸\"m\" c=1 T", "m ‸\"c\"=1 T"]),
        ("is a text, so its tag", ["m a=‸<%= device_id %> T", "m a=‸<%= timestamp %> T"]),
        (
            "and more follows it",
            [
                "m a=<%= speed %>‸u T", "m a=<%= speed %>i‸i T", "m a=<%= is_moving %>‸i T",
                "m a=<%= speed %>‸<%= speed %> T",
            ]
        ),
        (
            "is no value",
            [
                "m a=‸x T", "m a=‸1u T", "m a=‸1.5i T", "m a=‸1e999 T", "m a=‸T T", "m a=‸-i T",
                "m a=‸99999999999999999999i T",
            ]
        ),
        ("the value of a field is missing", ["m a=‸ T", "m a=‸,b=1 T"]),
        ("this text is not closed", ["m a=‸\"x T", "m a=‸\"x\\\" T"]),
        ("a text has ended", ["m a=\"x\"‸y T"]),
        ("a text has no other escapes", ["m a=\"‸\\n\" T", "m a=\"‸\\<%= event %>\" T"]),
        ("one line", ["m a=1,b=\"‸\n\" T", "m‸\n a=1 T"]),
        ("no control", ["m‸\u{1} a=1 T", "m a=\"‸\t\" T"]),
        ("a line ends with its time", ["m a=1‸", "m a=1 ‸", "m a=1 ‸1781526850000", "m a=1 ‸b=2 T"]),
        ("is no time", ["m a=1 ‸<%= timestamp %>", "m a=1 ‸<%= speed %>"]),
        ("no unit of time", ["m a=1 T‸0", "m a=1 T‸000000000", "m a=1 <%= timestamp.seconds %>‸0000"]),
        ("has ended before this", ["m a=1 T ‸x", "m a=1 T\n‸m a=2 T", "m a=1 T‸i"]),
        (
            "all fields can be unknown",
            ["m ‸a=<%= speed %> T", "m ‸a=<%= speed %>,b=\"<%= activity.type %>\" T"]
        ),
        ("there is no tag", ["m a=‸<%= sped %> T"]),
        ("known of geofence events only", ["m,a=‸<%= geofence.identifier %> b=1 T"]),
        ("the template is empty", ["‸", "‸ \n"]),
    ]

    @Test(
        "what is no line is told with its place",
        arguments: faults.flatMap { row in row.templates.map { (row.reason, $0) } })
    func broken(reason: String, marked: String) throws {
        let text = marked.replacing("T", with: Self.time, maxReplacements: marked.contains("=‸T") ? 0 : 2)
        let plain = text.replacing("‸", with: "")
        let fault = try #require(throws: TemplateFault.self) {
            try Template(plain, for: .location, as: .text)
        }
        #expect(fault.description.contains(reason) && !fault.advice.isEmpty)
        let before = text.prefix { $0 != "‸" }
        #expect(fault.line == before.count { $0 == "\n" } + 1)
        #expect(
            fault.column
                == (before.split(separator: "\n", omittingEmptySubsequences: false).last?.unicodeScalars.count
                    ?? 0) + 1)
    }

    @Test("whatever a geofence is called, the line has that name, and no more than its own tags and fields")
    func random() throws {
        let seed = testSeed(UInt64.random(in: 0...UInt64.max))
        var random = SeededGenerator(seed: seed)
        let scalars: [Unicode.Scalar] = [
            ",", " ", "=", "\\", "\"", "\n", "\u{1}", "a", "é", "😀", "#", "<", "%", ">", "i", "\u{7F}",
        ]
        for _ in 0..<3000 {
            var name = ""
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                name.unicodeScalars.append(scalars[Int.random(in: scalars.indices, using: &random)])
            }
            let text = try line(
                "m,n=<%= geofence.identifier %>,o=1 s=\"<%= geofence.identifier %>\",t=1i \(Self.time)",
                TemplateRecord(TemplateSamples.event(name)))
            let spaced = String(
                String.UnicodeScalarView(
                    name.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
            let found = try #require(Self.read(text), "BEEKOND_SEED=\(seed): \(text)")
            try #require(
                found == [spaced.replacing("\\", with: "/"), spaced], "BEEKOND_SEED=\(seed): \(text)")
        }
    }

    /// The name in its two places, read from the front by the rules of each.
    private static func read(_ text: String) -> [String]? {
        var rest = Substring(text)
        func upTo(_ ends: String, _ escaped: String) -> String? {
            var found = ""
            while let first = rest.unicodeScalars.first, !ends.unicodeScalars.contains(first) {
                rest.unicodeScalars.removeFirst()
                guard first == "\\" else {
                    found.unicodeScalars.append(first)
                    continue
                }
                guard let second = rest.unicodeScalars.first, escaped.unicodeScalars.contains(second) else {
                    return nil
                }
                found.unicodeScalars.append(second)
                rest.unicodeScalars.removeFirst()
            }
            return found
        }
        guard rest.hasPrefix("m,n=") else { return nil }
        rest.removeFirst(4)
        guard let tag = upTo(", =\n", ", ="), rest.hasPrefix(",o=1 s=\"") else { return nil }
        rest.removeFirst(8)
        guard let string = upTo("\"\n", "\"\\"), rest == "\",t=1i 1781526845000\n" else { return nil }
        return [tag, string]
    }
}
