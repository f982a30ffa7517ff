import Base
import Testing
import Tracking

@testable import Envelope

@Suite("templates that are forms")
struct TemplateFormTests {
    private func shape(
        _ location: String, params: [String: BodyFields.Value] = [:],
        extras: TemplateShape.ExtrasPlace = .record,
        isQuery: Bool = false
    ) throws -> TemplateShape {
        try TemplateShape(
            params: BodyFields(params), extras: extras, batchSize: 1, isQuery: isQuery,
            location: Template(location, for: .location, as: .form), geofence: nil)
    }

    private func text(
        _ template: String, _ location: Location = TemplateSamples.location(),
        params: [String: BodyFields.Value] = [:], extras: String? = nil, isQuery: Bool = false
    ) throws -> String {
        try TemplateSamples.body(
            shape(template, params: params, isQuery: isQuery), [TemplateRecord(location)], extras: extras)
    }

    @Test(
        "members, to the byte",
        arguments: [
            (
                #"{"lat": <%= latitude %>, "a": true, "b": null, "c": -1.50e+2}"#,
                "lat=37.7749&a=true&c=-1.50e%2B2"
            ),
            (
                #"{"a b&=": "x y&z=+é\u0000😀\"", "": ""}"#,
                "a%20b%26%3D=x%20y%26z%3D%2B%C3%A9%00%F0%9F%98%80%22&="
            ),
            (
                #"{"t": <%= timestamp.seconds %>, "at": "<%= timestamp %>", "who": "<%= device_id %>/<%= event %>"}"#,
                "t=1781526850&at=2026-06-15T12%3A34%3A10.000Z&who=truck-12%2Fmotionchange"
            ),
        ])
    func known(template: String, expected: String) throws {
        #expect(try text(template) == expected)
    }

    @Test("what is unknown is left out, whatever the SDK has for it")
    func unknown() throws {
        let names = TemplateTag.allCases.filter {
            $0.isKnown(in: .location) && $0.canBeUnknown(in: .location)
        }
        #expect(names.count == 14)
        let members = names.enumerated().map { #""\#($0)": "\#($1.written)""# }.joined(separator: ",")
        #expect(try text("{\(members)}", TemplateSamples.bare).isEmpty)
        #expect(try text("{\"x\": 1, \(members)}", TemplateSamples.bare) == "x=1")
        let speed =
            #"{"a": <%= speed %>, "b": "<%= speed %>", "c": "<%= speed %> m/s", "d": <%= accuracy %>}"#
        #expect(try text(speed, TemplateSamples.bare) == "c=-1%20m%2Fs")
    }

    @Test("then params, then extras, none of which takes a name that is there")
    func others() throws {
        let extras = #"{"a":"1","k":"2","driver":"Zo\u00eb","deep":{"x":1},"none":null,"n":7}"#
        let params: [String: BodyFields.Value] = ["k": .text("p q"), "j": .boolean(false)]
        #expect(
            try text(#"{"a": <%= speed %>}"#, params: params, extras: extras)
                == "a=2.5&j=false&k=p%20q&driver=Zo%C3%AB&n=7")
        let none = try shape(#"{"a": 1}"#, extras: .none)
        #expect(
            try TemplateSamples.body(none, [TemplateRecord(TemplateSamples.location())], extras: extras)
                == "a=1")
    }

    @Test(
        "a query has 3072 bytes at most: extras that do not fit are left out, and a record that may not is an error"
    )
    func length() throws {
        let long = String(repeating: "x", count: 3000)
        let extras = #"{"long":"\#(String(repeating: "y", count: 100))","short":"z"}"#
        let query = try text(#"{"a": "\#(long)"}"#, extras: extras, isQuery: true)
        #expect(query == "a=\(long)&short=z" && query.utf8.count <= TemplateShape.queryLimit)
        for (template, params) in [
            (#"{"a": "\#(long)", "b": "\#(String(repeating: "é", count: 20))"}"#, [:]),
            (#"{"a": "\#(long)", "b": <%= latitude %>, "c": <%= longitude %>, "d": <%= speed %>}"#, [:]),
            (#"{"a": 1}"#, ["p": .text(long + extras)]),
        ] as [(String, [String: BodyFields.Value])] {
            let invalid = #expect(throws: TemplateShape.Invalid.self) {
                try shape(template, params: params, isQuery: true)
            }
            #expect(invalid?.key == "location_template" && invalid?.reason.contains("at most 3072") == true)
            _ = try shape(template, params: params)
        }
    }

    @Test("an event has no place without a template for it")
    func events() throws {
        let shape = try shape(#"{"a": 1}"#)
        #expect(TemplateSamples.bytes(shape, [TemplateRecord(TemplateSamples.event())]) == nil)
        #expect(shape.identity.hasSuffix(" 0  4 form"))
    }

    @Test(
        "what is no flat object is told with its place",
        arguments: [
            ("no objects or arrays", #"{"a": ‸{"b": 1}}"#), ("no objects or arrays", #"{"a": 1, "b": ‸[]}"#),
            ("no objects or arrays", #"{"extras": ‸{}}"#), ("named fields", " ‸[1]"),
            ("there is no tag", #"{"a": ‸<%= sped %>}"#), ("stands where { or [ belongs", "‸a=1"),
        ])
    func broken(reason: String, marked: String) throws {
        let fault = try #require(throws: TemplateFault.self) {
            try Template(marked.replacing("‸", with: ""), for: .location, as: .form)
        }
        #expect(fault.reason.contains(reason) && fault.column == marked.prefix { $0 != "‸" }.count + 1)
    }
}
