import Base
import Testing
import Tracking

@testable import Envelope

@Suite("what templates become")
struct TemplateRenderingTests {
    private func text(
        _ template: String, _ location: Location = TemplateSamples.location(), odometer: Double? = nil,
        battery: TemplateRecord.Battery = .init(), deviceID: String = "truck-12"
    ) throws -> String {
        let shape = try TemplateSamples.shape(template, rootProperty: ".", batchSize: 1)
        return try TemplateSamples.body(
            shape, [TemplateRecord(location, odometer: odometer, battery: battery)], deviceID: deviceID)
    }

    @Test("the guide's record of a location, to the byte")
    func guideLocation() throws {
        let text = Template.Kind.location.guideText
        #expect(
            try self.text(text, odometer: 1234.5, battery: .init(level: 0.83, isCharging: true)) == """
                {"event":"motionchange","is_moving":true,"uuid":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20",\
                "timestamp":"2026-06-15T12:34:10.000Z","odometer":1234.5,"mock":false,\
                "coords":{"latitude":37.7749,"longitude":-122.4194,"accuracy":5.2,"speed":2.5,"heading":180,\
                "altitude":14.3,"ellipsoidal_altitude":14.3},"activity":{"type":"in_vehicle","confidence":100},\
                "battery":{"level":0.83,"is_charging":true},"extras":{}}
                """)
    }

    @Test("what is unknown is what the guide's SDK writes then")
    func unknown() throws {
        #expect(
            try text(Template.Kind.location.guideText, TemplateSamples.bare) == """
                {"event":"","uuid":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20",\
                "timestamp":"2026-06-15T12:34:10.000Z","odometer":0,"mock":false,\
                "coords":{"latitude":37.7749,"longitude":-122.4194,"accuracy":-1,"speed":-1,"heading":-1,\
                "altitude":0,"ellipsoidal_altitude":0},"activity":{"type":"unknown","confidence":100},\
                "battery":{"level":-1,"is_charging":false},"extras":{}}
                """)
    }

    @Test("the guide's record of a geofence event, with its extras, to the byte")
    func guideGeofence() throws {
        let shape = try TemplateSamples.shape(
            Template.Kind.location.guideText, geofence: Template.Kind.geofence.guideText, batchSize: 1)
        let record = TemplateRecord(TemplateSamples.event("do\"ck"))
        #expect(
            try TemplateSamples.body(shape, [record], extras: #"{"driver":"7","geofence":"x"}"#) == """
                {"location":{"event":"geofence","uuid":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e21",\
                "timestamp":"2026-06-15T12:34:05.000Z","odometer":0,"mock":false,\
                "geofence":{"identifier":"do\\"ck","action":"EXIT"},\
                "coords":{"latitude":37.7749,"longitude":-122.4194,"accuracy":4,"speed":-1,"heading":-1,\
                "altitude":0,"ellipsoidal_altitude":0},"activity":{"type":"unknown","confidence":100},\
                "battery":{"level":-1,"is_charging":false},"extras":{"driver":"7","geofence":"x"}}}
                """)
    }

    @Test(
        "templates of the guide and of its users",
        arguments: [
            (
                #"{"lat":<%= latitude %>,"lng":<%= longitude %>,"event":"<%= event %>","isMoving":<%= is_moving %>}"#,
                #"{"lat":37.7749,"lng":-122.4194,"event":"motionchange","isMoving":true}"#
            ),
            (
                #"[<%=latitude%>, <%=longitude%>, "<%=event%>", <%=is_moving%>]"#,
                #"[37.7749,-122.4194,"motionchange",true]"#
            ),
            (#"{ "speed": "<%= speed %>" }"#, #"{"speed":"2.5"}"#),
            (
                #"{"point": {"type": "Point", "coordinates": [<%= longitude %>, <%= latitude %>]}}"#,
                #"{"point":{"type":"Point","coordinates":[-122.4194,37.7749]}}"#
            ),
            (
                "{\n\t\"a\" :\r\n [ true , null,false ] , \"b\":-1.50e+2 }",
                #"{"a":[true,null,false],"b":-1.50e+2}"#
            ),
            (
                #"{"<": "a < b > c", "\u003c%": "\u003c%= \/ \\ \" \u00e9"}"#,
                #"{"<":"a < b > c","\u003c%":"\u003c%= \/ \\ \" \u00e9"}"#
            ),
            (
                #"["<%= device_id %>/<%= install_id %>", "<%= session_id %>", "<%= uuid %>", [], {}]"#,
                #"["truck-12/0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff","0190d4e0-1234-7000-8000-aabbccddeeff","#
                    + #""0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20",[],{}]"#
            ),
            (#"["<%=latitude%><%=longitude%>", "<%= mock%>"]"#, #"["37.7749-122.4194","false"]"#),
            (#"["😀<%= event %>é"]"#, #"["😀motionchangeé"]"#),
        ])
    func accepted(template: String, expected: String) throws {
        #expect(try text(template) == expected)
    }

    @Test("triggers in the guide's words", arguments: Trigger.allCases)
    func event(trigger: Trigger) throws {
        let expected =
            switch trigger {
            case .motion: "motionchange"
            case .checkIn: "heartbeat"
            case .interval, .geofence, .manual: ""
            }
        let location = TemplateSamples.location { $0.trigger = trigger }
        #expect(try text(#"["<%= event %>"]"#, location) == #"["\#(expected)"]"#)
    }

    @Test("activities in the guide's words", arguments: Activity.allCases)
    func activity(_ activity: Activity) throws {
        let names: [Activity: String] = [
            .stationary: "still", .walking: "on_foot", .running: "running", .cycling: "on_bicycle",
            .automotive: "in_vehicle", .unknown: "unknown",
        ]
        let location = TemplateSamples.location { $0.activity = activity }
        #expect(try text(#"["<%= activity.type %>"]"#, location) == "[\"\(try #require(names[activity]))\"]")
    }

    @Test("whether it moves, is simulated, is charging")
    func flags() throws {
        let template = "[<%= is_moving %>,<%= mock %>,<%= battery.is_charging %>]"
        let parked = TemplateSamples.location {
            $0.motion = .stationary
            $0.fix.isMock = true
        }
        #expect(try text(template, parked, battery: .init(isCharging: false)) == "[false,true,false]")
        #expect(try text(template, battery: .init(isCharging: true)) == "[true,false,true]")
    }

    @Test(
        "a member that is nothing but motion is left out while that is unknown; elsewhere it is null",
        arguments: [
            (#"{"m":<%= is_moving %>,"a":1}"#, #"{"a":1}"#),
            (#"{"a":1,"m":<%= is_moving %>}"#, #"{"a":1}"#),
            (#"{"a":1,"m":<%= is_moving %>,"b":2}"#, #"{"a":1,"b":2}"#),
            (#"{"a":1,"m":"<%= is_moving %>","b":2}"#, #"{"a":1,"b":2}"#),
            (#"{"m":<%= is_moving %>,"n":"<%= is_moving %>","b":[]}"#, #"{"b":[]}"#),
            (#"{"a":{"m":<%= is_moving %>},"n":<%= is_moving %>}"#, #"{"a":{}}"#),
            (#"{"m":<%= is_moving %>}"#, #"{}"#),
            (#"{"a":"m: <%= is_moving %>"}"#, #"{"a":"m: null"}"#),
            (#"{"a":[<%= is_moving %>,"<%= is_moving %>"]}"#, #"{"a":[null,"null"]}"#),
            (#"[{"m":<%= is_moving %>},<%= is_moving %>]"#, #"[{},null]"#),
        ])
    func motion(template: String, expected: String) throws {
        #expect(try text(template, TemplateSamples.bare) == expected)
        let known = template.replacing("<%= is_moving %>", with: "true")
        #expect(try text(template) == known)
    }

    @Test("what comes after a member that is left out follows what was before it")
    func afterwards() throws {
        for (template, expected) in [
            (#"{"m":<%= is_moving %>}"#, #"{"p":1,"driver":"7"}"#),
            (#"{"m":<%= is_moving %>,"extras":{}}"#, #"{"extras":{"driver":"7"},"p":1}"#),
            (
                #"{"extras":{"m":<%= is_moving %>},"n":<%= is_moving %>}"#,
                #"{"extras":{"driver":"7"},"p":1}"#
            ),
        ] {
            let shape = try TemplateSamples.shape(
                template, rootProperty: ".", params: ["p": .integer(1)], batchSize: 1)
            let record = TemplateRecord(TemplateSamples.bare)
            #expect(try TemplateSamples.body(shape, [record], extras: #"{"driver":"7"}"#) == expected)
        }
    }

    @Test("the ignition, and what was stored of the battery")
    func vehicle() throws {
        let template = #"[<%= ignition %>,<%= battery.level %>,<%= battery.is_charging %>,"<%= ignition %>"]"#
        func rendered(_ change: (inout Location) -> Void) throws -> String {
            let shape = try TemplateSamples.shape(template, rootProperty: ".", batchSize: 1)
            return try TemplateSamples.body(
                shape, [TemplateRecord(TemplateSamples.location(change))], deviceID: "")
        }
        #expect(try rendered { _ in } == #"[null,-1,false,"null"]"#)
        #expect(
            try rendered {
                $0.ignition = true
                $0.battery = Battery(percent: 83, state: .full)
            } == #"[true,0.83,true,"true"]"#)
        #expect(
            try rendered {
                $0.ignition = false
                $0.battery = Battery(percent: 5, state: .unplugged)
            } == #"[false,0.05,false,"false"]"#)
    }

    @Test("a number that JSON cannot hold, from a damaged row, counts as unknown")
    func infinite() throws {
        let location = TemplateSamples.location {
            $0.fix.speed = .infinity
            $0.fix.altitude = -.infinity
            $0.fix.accuracy = .nan
        }
        #expect(
            try text(
                "[<%= speed %>,<%= altitude %>,<%= accuracy %>,<%= odometer %>,<%= battery.level %>]",
                location,
                odometer: .infinity, battery: .init(level: .nan)) == "[-1,0,-1,0,-1]")
    }

    @Test("an event that was stored without a position is nowhere")
    func nowhere() throws {
        var event = TemplateSamples.event()
        (event.coordinate, event.accuracy) = (nil, nil)
        let shape = try TemplateSamples.shape(
            geofence: #"[<%= latitude %>, <%= longitude %>, <%= accuracy %>, "<%= latitude %>"]"#,
            rootProperty: ".", batchSize: 1)
        #expect(try TemplateSamples.body(shape, [TemplateRecord(event)]) == #"[null,null,-1,"null"]"#)
    }

    @Test("texts are escaped")
    func escaped() throws {
        #expect(
            try text(#"{"a": "<%= device_id %>"}"#, deviceID: "\"},\\\n\u{1F}é😀")
                == #"{"a":"\"},\\\u000a\u001fé😀"}"#)
    }

    @Test("what a template asks for is known when it is loaded")
    func tags() throws {
        let template = try Template(
            #"{"a": "<%= device_id %> <%= uuid %>", "b": <%= speed %>}"#, for: .location)
        #expect(template.tags == [.deviceID, .uuid, .speed])
    }

    @Test("every tag can be asked for in a geofence template, and all but three in a location template")
    func everyTag() throws {
        var event = TemplateSamples.event()
        event.reason = .removed
        for tag in TemplateTag.allCases {
            let template = try Template("[\"\(tag.written)\"]", for: .geofence)
            #expect(template.tags == [tag])
            let shape = try TemplateSamples.shape(
                geofence: "[\"\(tag.written)\"]", rootProperty: ".", batchSize: 1)
            let body = try TemplateSamples.body(shape, [TemplateRecord(event)])
            #expect(body.count > 4, "\(tag) is empty in \(body)")
            let isOfLocations = (try? Template("[\"\(tag.written)\"]", for: .location)) != nil
            #expect(isOfLocations != tag.rawValue.hasPrefix("geofence."))
        }
    }

    @Test("the largest templates load")
    func limits() throws {
        let deep = String(repeating: "[", count: 15) + "[1]" + String(repeating: "]", count: 15)
        let long = "[\"" + String(repeating: "é", count: 4094) + "\"]"
        let many = "[" + Array(repeating: "<%=speed%>", count: 100).joined(separator: ",") + "]"
        #expect(long.utf8.count == Template.sizeLimit)
        for template in [deep, long, many] { _ = try Template(template, for: .location) }
    }
}
