import Base
import Testing
import Tracking

@testable import Envelope

@Suite("the bodies of the format template")
struct TemplatePayloadTests {
    private let records = [
        TemplateRecord(TemplateSamples.event()),
        TemplateRecord(TemplateSamples.location()),
    ]
    private var one: [TemplateRecord] { [records[1]] }
    private let extras = #"{"driver":"7","lat":"x","lane":"y"}"#

    // MARK: The root

    @Test("one record or an array is decided by the setting, not by how many there are")
    func batching() throws {
        #expect(try TemplateSamples.body(.init(batchSize: 1), one) == #"{"location":{"lat":37.7749}}"#)
        #expect(try TemplateSamples.body(.init(batchSize: 100), one) == #"{"location":[{"lat":37.7749}]}"#)
        #expect(
            try TemplateSamples.body(.init(batchSize: 2), records)
                == #"{"location":[{"fence":"home"},{"lat":37.7749}]}"#)
        #expect(try TemplateSamples.body(.init(batchSize: 2), []) == #"{"location":[]}"#)
        #expect(try TemplateSamples.bytes(.init(batchSize: 1), records) == nil)
        #expect(try TemplateSamples.bytes(.init(batchSize: 1), []) == nil)
    }

    @Test("the record, or the array, can be the body")
    func bare() throws {
        #expect(try TemplateSamples.body(.init(rootProperty: ".", batchSize: 1), one) == #"{"lat":37.7749}"#)
        #expect(
            try TemplateSamples.body(.init(rootProperty: ".", batchSize: 5), one) == #"[{"lat":37.7749}]"#)
        #expect(try TemplateSamples.body(.init(rootProperty: ".", batchSize: 5), []) == "[]")
    }

    @Test("a root property of any name")
    func rootProperty() throws {
        #expect(
            try TemplateSamples.body(.init(rootProperty: "a\"b.c😀", batchSize: 1), one)
                == #"{"a\"b.c😀":{"lat":37.7749}}"#)
    }

    @Test("records go by time, and at the same time locations first, in whatever order they come")
    func order() throws {
        func event(_ fence: String, _ seconds: Double) -> TemplateRecord {
            TemplateRecord(TemplateSamples.event(fence, at: seconds))
        }
        func location(_ latitude: Double, _ seconds: Double) -> TemplateRecord {
            TemplateRecord(
                TemplateSamples.location {
                    $0.fix.time = TemplateSamples.time.advanced(bySeconds: seconds)
                    $0.fix.coordinate = Coordinate(latitude: latitude, longitude: 0) ?? $0.fix.coordinate
                })
        }
        let ordered = [
            event("a", -1), location(1, 0), location(2, 0), event("b", 0), event("c", 0), location(3, 1),
        ]
        let expected = try TemplateSamples.body(.init(), ordered)
        #expect(
            expected
                == #"{"location":[{"fence":"a"},{"lat":1},{"lat":2},{"fence":"b"},{"fence":"c"},{"lat":3}]}"#)
        #expect(try TemplateSamples.body(.init(), [0, 3, 4, 1, 2, 5].map { ordered[$0] }) == expected)
        #expect(try TemplateSamples.body(.init(), [5, 3, 1, 4, 2, 0].map { ordered[$0] }) == expected)
    }

    // MARK: Params

    private let params: [String: BodyFields.Value] = [
        "token": .text("a\"\n"), "a": .integer(.max), "ratio": .number(-0.25), "live": .boolean(true),
        "é": .number(1e300), "Z": .integer(-1),
    ]

    @Test("params stand beside the records, by code points of their names")
    func paramsBeside() throws {
        #expect(
            try TemplateSamples.body(.init(params: params, batchSize: 1), one) == """
                {"location":{"lat":37.7749},"Z":-1,"a":9223372036854775807,"live":true,"ratio":-0.25,\
                "token":"a\\"\\u000a","é":1e+300}
                """)
        #expect(
            try TemplateSamples.body(.init(params: ["k": .integer(1)]), records)
                == #"{"location":[{"fence":"home"},{"lat":37.7749}],"k":1}"#)
        #expect(
            try TemplateSamples.body(.init(rootProperty: ".", params: ["k": .integer(1)], batchSize: 1), one)
                == #"{"lat":37.7749,"k":1}"#)
    }

    // MARK: Extras

    @Test(
        "extras go where the setting says, and never take a name that is there",
        arguments: [
            (.record, "location", 1, #"{"location":{"lat":37.7749,"driver":"7","lane":"y"},"lane":1}"#),
            (.record, ".", 1, #"{"lat":37.7749,"lane":1,"driver":"7"}"#),
            (.root, "location", 1, #"{"location":{"lat":37.7749},"lane":1,"driver":"7","lat":"x"}"#),
            (.root, "location", 9, #"{"location":[{"lat":37.7749}],"lane":1,"driver":"7","lat":"x"}"#),
            (.root, "driver", 9, #"{"driver":[{"lat":37.7749}],"lane":1,"lat":"x"}"#),
            (.root, ".", 1, #"{"lat":37.7749,"lane":1,"driver":"7"}"#),
            (.none, "location", 1, #"{"location":{"lat":37.7749},"lane":1}"#),
            (.none, ".", 1, #"{"lat":37.7749,"lane":1}"#),
        ] as [(TemplateShape.ExtrasPlace, String, Int, String)])
    func extras(place: TemplateShape.ExtrasPlace, root: String, size: Int, expected: String) throws {
        let shape = try TemplateSamples.shape(
            rootProperty: root, params: ["lane": .integer(1)], extras: place, batchSize: size)
        #expect(try TemplateSamples.body(shape, one, extras: extras) == expected)
    }

    @Test("each record of an array has the extras, each template its own names")
    func extrasInEach() throws {
        #expect(
            try TemplateSamples.body(.init(), records, extras: #"{"fence":1,"lat":2}"#)
                == #"{"location":[{"fence":"home","lat":2},{"lat":37.7749,"fence":1}]}"#)
    }

    @Test(
        "an object extras in the template takes them",
        arguments: [
            (#"{"extras": {}, "a": 1}"#, #"{"extras":{"driver":"7","lat":"x","lane":"y"},"a":1}"#),
            (#"{"a": 1, "extras": {"lane": 1}}"#, #"{"a":1,"extras":{"lane":1,"driver":"7","lat":"x"}}"#),
            (
                #"{"extras": {"driver": "<%= device_id %>"}}"#,
                #"{"extras":{"driver":"truck-12","lat":"x","lane":"y"}}"#
            ),
            // No object, or not of the record itself.
            (#"{"extras": 1}"#, #"{"extras":1,"driver":"7","lat":"x","lane":"y"}"#),
            (#"{"a": {"extras": {}}}"#, #"{"a":{"extras":{}},"driver":"7","lat":"x","lane":"y"}"#),
            (#"{"\u0065xtras": {}}"#, #"{"\u0065xtras":{"driver":"7","lat":"x","lane":"y"}}"#),
            // The guide's way with an array.
            (#"[1]"#, #"[1,{"driver":"7","lat":"x","lane":"y"}]"#),
            (#"[{"extras": {}}]"#, #"[{"extras":{}},{"driver":"7","lat":"x","lane":"y"}]"#),
        ])
    func nested(template: String, expected: String) throws {
        let shape = try TemplateSamples.shape(template, batchSize: 1)
        #expect(try TemplateSamples.body(shape, one, extras: extras) == "{\"location\":\(expected)}")
    }

    @Test("nothing is added when there are none", arguments: [nil, "{}", " { } "])
    func noExtras(extras: String?) throws {
        for template in ["[1]", #"{"a":1}"#, #"{"extras":{}}"#] {
            let shape = try TemplateSamples.shape(template, batchSize: 1)
            #expect(try TemplateSamples.body(shape, one, extras: extras) == "{\"location\":\(template)}")
        }
    }

    @Test(
        "extras are what they were, whatever they hold",
        arguments: [
            (
                #"{"a":{"b":[1,null,"<%= latitude %>"]},"c":"%>"}"#,
                #","a":{"b":[1,null,"<%= latitude %>"]},"c":"%>""#
            ),
            (" { \"a\" : [ 1 , 2 ] }\n", #","a":[1,2]"#),
            (#"{"\u006cat":1,"b":2}"#, #","b":2"#),
            // What no JSON object is not sent.
            (#"{"a":1"#, ""), (#"{"a":1}}"#, ""), ("[1]", ""), ("", ""), ("null", ""),
            (#"{"a":1,"a":2}"#, ""),
            (#"{"a":<%= latitude %>}"#, ""), (#"{"a":"\ud800"}"#, ""), (#"{"a":NaN}"#, ""),
        ])
    func anyExtras(extras: String, expected: String) throws {
        let shape = try TemplateSamples.shape(batchSize: 1)
        #expect(
            try TemplateSamples.body(shape, one, extras: extras)
                == #"{"location":{"lat":37.7749\#(expected)}}"#)
    }

    @Test("a second body has the same bytes, also in a buffer that was given back")
    func again() throws {
        var payload = try TemplatePayload(shape: .init(), deviceID: "", installID: "i")
        func body() -> [UInt8]? {
            payload.encode(session: TemplateSamples.session, extras: nil, records: records)
        }
        let first = try #require(body())
        #expect(body() == first)
        payload.reset()
        #expect(body() == first)
    }

    @Test("what could make another body makes another identity, and nothing else does")
    func identity() throws {
        let shapes = [
            try TemplateSamples.shape(), try TemplateSamples.shape("{\"lat\":<%= longitude %>}"),
            try TemplateSamples.shape(geofence: "{\"f\": 1}"),
            try TemplateSamples.shape(rootProperty: "data"),
            try TemplateSamples.shape(params: ["a": .integer(1)]),
            try TemplateSamples.shape(params: ["a": .text("1")]),
            try TemplateSamples.shape(extras: .root), try TemplateSamples.shape(batchSize: 1),
        ]
        #expect(Set(shapes.map(\.identity)).count == shapes.count)
        #expect(try TemplateSamples.shape(batchSize: 7).identity == shapes[0].identity)
    }
}

extension TemplateShape {
    /// With the samples' templates.
    fileprivate init(
        rootProperty: String = "location", params: [String: BodyFields.Value] = [:], batchSize: Int = 100
    ) throws {
        self = try TemplateSamples.shape(rootProperty: rootProperty, params: params, batchSize: batchSize)
    }
}
