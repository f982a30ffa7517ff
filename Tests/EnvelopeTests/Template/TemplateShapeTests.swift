import Testing

@testable import Envelope

@Suite("settings of the format template that exclude each other")
struct TemplateShapeTests {
    @Test(
        "each is named with what is wrong",
        arguments: [
            ("root_property", "", [:], .record, 1, "{\"a\":1}"),
            ("root_property", "a\nb", [:], .record, 1, "{\"a\":1}"),
            ("root_property", String(repeating: "x", count: 101), [:], .record, 1, "{\"a\":1}"),
            ("params", "data", ["data": .integer(1)], .record, 1, "{\"a\":1}"),
            ("params", ".", ["k": .integer(1)], .record, 2, "{\"a\":1}"),
            ("params", ".", ["k": .integer(1)], .none, 1, "[1]"),
            ("params", ".", ["a": .integer(1)], .record, 1, "{\"a\":1}"),
            ("params", ".", ["a": .integer(1)], .record, 1, "{\"\\u0061\":1}"),
            ("params", ".", ["extras": .integer(1)], .record, 1, "{\"a\":1,\"extras\":{}}"),
            ("params", ".", ["fence": .integer(1)], .record, 1, "{\"a\":1}"),
            ("extras_in", ".", [:], .root, 2, "{\"a\":1}"),
            ("extras_in", ".", [:], .root, 1, "[1]"),
        ] as [(String, String, [String: BodyFields.Value], TemplateShape.ExtrasPlace, Int, String)])
    func refused(
        key: String, root: String, params: [String: BodyFields.Value], extras: TemplateShape.ExtrasPlace,
        size: Int, template: String
    ) throws {
        let invalid = try #require(throws: TemplateShape.Invalid.self) {
            try TemplateSamples.shape(
                template, rootProperty: root, params: params, extras: extras, batchSize: size)
        }
        #expect(invalid.key == key && (invalid.field != nil) == (key == "params"))
        #expect(!invalid.reason.isEmpty)
    }

    @Test(
        "what looks alike and is possible",
        arguments: [
            ("data", ["a": .integer(1), ".": .integer(2)], .root, 2, "[1]"),
            ("Data", ["data": .integer(1)], .root, 1, "{\"a\":1}"),
            (".", [:], .record, 2, "[1]"),
            (".", ["k": .integer(1)], .root, 1, "{\"a\":{\"k\":1}}"),
        ] as [(String, [String: BodyFields.Value], TemplateShape.ExtrasPlace, Int, String)])
    func accepted(
        root: String, params: [String: BodyFields.Value], extras: TemplateShape.ExtrasPlace, size: Int,
        template: String
    ) throws {
        _ = try TemplateSamples.shape(
            template, rootProperty: root, params: params, extras: extras, batchSize: size)
    }

    @Test("what both templates ask for")
    func tags() throws {
        let shape = try TemplateSamples.shape("[<%= speed %>]", geofence: "[\"<%= device_id %>\"]")
        #expect(shape.tags == [.speed, .deviceID])
    }

    @Test(
        "fields that no body can have, never showing a value",
        arguments: [
            ["": .integer(1)], ["a\u{0}": .integer(1)], [String(repeating: "x", count: 101): .integer(1)],
            ["a": .number(.nan)], ["a": .number(-.infinity)],
            ["a": .text(String(repeating: "é", count: 2049))],
            Dictionary(uniqueKeysWithValues: (0...64).map { ("k\($0)", BodyFields.Value.boolean(true)) }),
        ] as [[String: BodyFields.Value]])
    func bounds(values: [String: BodyFields.Value]) throws {
        let invalid = try #require(throws: BodyFields.Invalid.self) { try BodyFields(values) }
        #expect(!invalid.reason.isEmpty && !invalid.reason.contains("éé"))
    }

    @Test(
        "no addition to beekon's own envelope takes the name of a field",
        arguments: [
            ("schema_version", true), ("batch_id", true), ("session_id", true), ("sent_at", true),
            ("device", true),
            ("extras", true), ("locations", true), ("geofence_events", true), ("command_results", true),
            ("events", true), ("status", true), ("Batch_ID", true), ("EVENTS", true), ("event", false),
            ("batch", false), ("location", false), ("install_id", false), ("tenant", false),
        ])
    func reserved(name: String, isReserved: Bool) throws {
        let fields = try BodyFields(["a": .integer(1), name: .text("secret"), "z": .integer(2)])
        #expect(fields.reservedByBeekon == (isReserved ? name : nil))
        var shown = ""
        dump(fields, to: &shown)
        #expect(!(shown + "\(fields)" + String(reflecting: fields)).contains("secret"))
    }

    @Test("fields for beekon's envelope, as they are written")
    func appended() throws {
        var bytes: [UInt8] = []
        try BodyFields(["b": .text("x\"y"), "a": .boolean(false)]).append(to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #","a":false,"b":"x\"y""#)
        #expect(try BodyFields(["a": .integer(1)]) != BodyFields(["a": .integer(2)]))
        #expect(
            try BodyFields(["a": .integer(1), "b": .integer(2)])
                == BodyFields(["b": .integer(2), "a": .integer(1)]))
    }
}
