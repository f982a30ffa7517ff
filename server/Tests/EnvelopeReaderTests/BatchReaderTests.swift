import Base
import Testing

@testable import EnvelopeReader

@Suite("an upload, from bytes to rows") struct BatchReaderTests {
    @Test("every field of the schema arrives") func whole() throws {
        let batch = try Samples.read(Samples.envelope())
        #expect(batch.id.description == Samples.batch)
        #expect(batch.session.description == "0190d4e0-1234-7000-8000-aabbccddeeff")
        #expect(batch.sentAt.iso8601 == "2026-06-15T12:34:56.789Z")
        #expect(batch.device.installID?.description == "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff")
        #expect(batch.device.platform == "linux" && batch.device.version == "0.1.0")
        #expect(batch.device.model == "Raspberry Pi 4")
        #expect(batch.extras == Array(#"{"user_id":"truck-12"}"#.utf8))
        let row = try #require(batch.locations.first)
        #expect(batch.locations.count == 1)
        #expect(row.id.description == "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")
        #expect(row.time.iso8601 == "2026-06-15T12:34:10.000Z")
        #expect(row.latitude == 37.7749 && row.longitude == -122.4194)
        #expect(row.accuracy == 5.2 && row.speed == 2.5 && row.bearing == 180 && row.altitude == 14.3)
        #expect(row.codes.trigger == "interval" && row.codes.motion == "moving" && !row.codes.isMock)
        #expect(row.codes.activity == "automotive" && row.codes.quality == "low_accuracy")
        let event = try #require(batch.events.first)
        #expect(event.geofence == "home" && event.kind == .exit)
        #expect(event.time.iso8601 == "2026-06-15T12:34:05.000Z")
    }

    @Test("absent values stay absent, unknown fields are passed over, space may stand anywhere")
    func lenient() throws {
        let location =
            ##"{ "new": {"a":[1,{"b":null}],"c":"\u00e9\"}"}, "id" : "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","##
            + #" "timestamp":"2026-06-15T14:34:10+02:00","trigger":"manual","motion":"unknown","is_mock":true,"#
            + #""l\u0061titude":-0,"longitude":1.5e1}"#
        let event = Samples.event.dropLast() + #","reason":"stopped"}"#
        let text = Samples.envelope(
            locations: ["\n" + location + "\t"], events: [String(event)],
            more: #","status":{"state":"tracking"}"#)
        #expect(try Samples.read(text).events.first?.kind == .exit)
        let row = try #require(try Samples.read(text).locations.first)
        #expect(row.accuracy == nil && row.speed == nil && row.bearing == nil && row.altitude == nil)
        #expect(row.codes.activity == nil && row.codes.quality == nil && row.codes.isMock)
        #expect(row.time.iso8601 == "2026-06-15T12:34:10.000Z" && row.latitude == 0 && row.longitude == 15)
    }

    @Test("what else a vehicle says is kept as it was sent") func remarks() throws {
        let id = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e40"
        let event =
            #"{"id":"\#(id)","kind":"ignition_on","timestamp":"2026-06-15T12:00:00.000Z","data":{"x":[1, 2]}}"#
        let result = #"{"id":"c-17","command":"start","ok":false,"error":"not_allowed"}"#
        let status = #"{"state":"tracking", "uptime_seconds":5}"#
        let more =
            #","status":\#(status),"command_results":[\#(result)],"events":[ \#(event) ]"#
        let remarks = try Samples.read(Samples.envelope(locations: [], events: [], more: more)).remarks
        #expect(remarks.status == Array(status.utf8))
        #expect(
            remarks.results == [CommandResult(id: "c-17", isDone: false, object: Array(result.utf8))])
        #expect(remarks.events.map(\.object) == [Array(event.utf8)])
        #expect(remarks.events.first?.kind == "ignition_on" && remarks.events.first?.id.description == id)
    }

    @Test(
        "what is wrong with it has its place",
        arguments: [
            (#""status":[]"#, "/status"), (#""status":{"a":}"#, "/status"),
            (#""command_results":[{"id":"c-1"}]"#, "/command_results/0/ok"),
            (#""command_results":[{"id":"c-1","ok":1}]"#, "/command_results/0/ok"),
            (#""events":[{"id":"x"}]"#, "/events/0/id"), (#""events":{}"#, "/events"),
        ]) func remarkFaults(text: String, pointer: String)
    {
        #expect(Samples.fault(Samples.envelope(more: "," + text))?.pointer == pointer)
        let long = #","status":{"a":"\#(String(repeating: "x", count: 17_000))"}"#
        #expect(Samples.fault(Samples.envelope(more: long))?.kind == .tooLarge)
    }

    /// An envelope whose extras are these members.
    private func extras(_ members: [String]) -> String {
        Samples.envelope().replacing(
            #""extras":{"user_id":"truck-12"}"#, with: #""extras":{\#(members.joined(separator: ","))}"#)
    }

    @Test(
        "extras are 64 at most, names of 100 bytes and values of 1,024, as they read and not as they are written",
        arguments: [
            ("a", 100, true), ("a", 101, false), ("\\u0061", 100, true), ("\\u0061", 101, false),
            ("ä", 50, true),
            ("ä", 51, false), ("\\ud83d\\ude9a", 25, true), ("\\ud83d\\ude9a", 26, false),
        ]) func extrasNames(character: String, count: Int, isTaken: Bool)
    {
        let fault = Samples.fault(extras([#""\#(String(repeating: character, count: count))":"x""#]))
        #expect((fault == nil) == isTaken, "\(String(describing: fault))")
        if let fault { #expect(fault.kind == .tooLarge && fault.pointer == "/extras") }
        #expect(Samples.fault(extras((0..<64).map { #""a\#($0)":"""# })) == nil)
        #expect(Samples.fault(extras((0..<65).map { #""a\#($0)":"""# }))?.pointer == "/extras")
    }

    @Test(
        "a value of extras has 1,024 bytes at most, as it reads",
        arguments: [
            ("a", 1024, true), ("a", 1025, false), ("\\u0041", 1024, true), ("\\u0041", 1025, false),
            ("\\n", 1024, true), ("ä", 512, true), ("ä", 513, false), ("\\ud83d\\ude9a", 256, true),
            ("\\ud83d\\ude9a", 257, false),
        ]) func extrasValues(character: String, count: Int, isTaken: Bool)
    {
        let text = extras([#""a":"\#(String(repeating: character, count: count))""#])
        #expect((Samples.fault(text) == nil) == isTaken)
        if isTaken { #expect((try? Samples.read(text).extras) != nil) }
    }

    @Test("an event's object has 4 KiB at most", arguments: [(4096, true), (4097, false)])
    func eventSize(bytes: Int, isTaken: Bool) {
        let start =
            #"{"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e40","kind":"x","timestamp":"2026-06-15T12:00:00.000Z","a":""#
        let event = start + String(repeating: "x", count: bytes - start.utf8.count - 2) + #""}"#
        let fault = Samples.fault(Samples.envelope(more: #","events":[\#(event)]"#))
        #expect((fault == nil) == isTaken)
        if let fault { #expect(fault.kind == .tooLarge && fault.pointer == "/events/0") }
    }

    @Test("of results up to 128 are taken, and the others passed over", arguments: [1, 128, 129, 1000])
    func manyResults(count: Int) throws {
        let results = (1...count).map { #"{"id":"c-\#($0)","ok":true}"# }.joined(separator: ",")
        let text = Samples.envelope(more: #","command_results":[\#(results)]"#)
        #expect(
            try Samples.read(text).remarks.results.map(\.id) == (1...min(count, 128)).map { "c-\($0)" })
    }

    @Test(
        "a fault names its field",
        arguments: [
            (#""latitude":37.7749"#, #""latitude":90.1"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":"37""#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":null"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":1e999"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":NaN"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749,"#, "", "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":1,"latitude":2"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":01"#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":1."#, "/locations/1/latitude", 1),
            (#""latitude":37.7749"#, #""latitude":1e"#, "/locations/1/latitude", 1),
            (#""bearing":180"#, #""bearing":360"#, "/locations/1/bearing", 1),
            (#""speed":2.5"#, #""speed":-1"#, "/locations/1/speed", 1),
            (#""is_mock":false"#, #""is_mock":0"#, "/locations/1/is_mock", 1),
            (#""trigger":"interval""#, #""trigger":"whim""#, "/locations/1/trigger", 1),
            (#""activity":"automotive""#, #""activity":null"#, "/locations/1/activity", 1),
            ("2026-06-15T12:34:10.000Z", "2026-02-30T12:34:10.000Z", "/locations/1/timestamp", 1),
            ("2026-06-15T12:34:10.000Z", "2026-06-15T12:34:10", "/locations/1/timestamp", 1),
            ("2a4b6c8d0e20", "2a4b6c8d0e2", "/locations/1/id", 1),
            ("2a4b6c8d0e20", "2a4b6c8d0e2g", "/locations/1/id", 1),
        ]) func location(original: String, replacement: String, pointer: String, index: Int)
    {
        let broken = Samples.location.replacing(original, with: replacement)
        let fault = Samples.fault(Samples.envelope(locations: [Samples.location, broken]))
        #expect(fault?.pointer == pointer)
        #expect(fault?.index == index)
        #expect(fault?.kind == .malformed)
    }

    @Test(
        "so does one outside the locations",
        arguments: [
            (#""schema_version":1"#, #""schema_version":2"#, "/schema_version"),
            (#""schema_version":1,"#, "", "/schema_version"),
            (Samples.batch, "0190d4e2-7b1a-4c3e-9f10-2a4b6c8d0e1f", "/batch_id"),
            (#""sdk_version":"0.1.0","#, "", "/device/sdk_version"),
            (#""platform":"linux""#, #""platform":"""#, "/device/platform"),
            (#""geofence_id":"home""#, ##""geofence_id":"a\u0000b""##, "/geofence_events/0/geofence_id"),
            (#""type":"exit""#, #""type":"dwell""#, "/geofence_events/0/type"),
            (#"{"user_id":"truck-12"}"#, #"{"user_id":12}"#, "/extras"),
            (#"{"user_id":"truck-12"}"#, #"{"user_id":"\ud800"}"#, "/extras"),
            (#""locations":["#, #""locations":{},"x":["#, "/locations"),
        ]) func root(original: String, replacement: String, pointer: String)
    {
        #expect(Samples.fault(Samples.envelope().replacing(original, with: replacement))?.pointer == pointer)
    }

    @Test(
        "what is not JSON at all",
        arguments: [
            "", " ", "[]", "null", "{", "{}x", "\u{FEFF}{}", #"{"a":1,}"#, #"{"a" 1}"#, #"{"a":tru}"#,
            "{\"a\":\"\n\"}",
        ])
    func noJSON(text: String) {
        #expect(Samples.fault(text) != nil)
    }

    @Test("an envelope cut at any byte is refused") func cut() {
        let text = Samples.envelope()
        for count in 0..<text.utf8.count {
            #expect(
                Samples.fault(String(decoding: text.utf8.prefix(count), as: UTF8.self)) != nil, "\(count)")
        }
        #expect(Samples.fault(text + "]") != nil)
        #expect(Samples.fault(text + " \n") == nil)
    }

    @Test("bytes that are no UTF-8 are refused, wherever they stand") func encoding() {
        var bytes = Array(Samples.envelope(more: #","x":"aaaaaaaaaaaaaaaaaaaa""#).utf8)
        bytes[bytes.count - 4] = 0xFF
        #expect(throws: Fault(reason: "is not UTF-8")) {
            try bytes.withUnsafeBytes { _ = try BatchReader.read($0) }
        }
    }

    @Test("every limit refuses one more than it allows") func limits() {
        let deep = { (levels: Int) in
            Samples.envelope(
                more: #","x":"# + String(repeating: "[", count: levels)
                    + String(repeating: "]", count: levels))
        }
        #expect(Samples.fault(deep(15)) == nil)
        #expect(Samples.fault(deep(16))?.kind == .tooLarge)
        #expect(Samples.fault(deep(100_000))?.kind == .tooLarge)
        let many = { (count: Int) in
            Samples.envelope(locations: Array(repeating: Samples.location, count: count))
        }
        #expect(Samples.fault(many(1000)) == nil)
        #expect(Samples.fault(many(1001))?.kind == .tooLarge)
        let fields = { (count: Int) in
            Samples.envelope(
                more: ",\"x\":{" + (0..<count).map { "\"\($0)\":1" }.joined(separator: ",") + "}")
        }
        #expect(Samples.fault(fields(1000)) == nil)
        #expect(Samples.fault(fields(1001))?.kind == .tooLarge)
        #expect(Samples.fault(Samples.envelope(more: ",\"x\":1" + String(repeating: "0", count: 63))) == nil)
        #expect(
            Samples.fault(Samples.envelope(more: ",\"x\":1" + String(repeating: "0", count: 64)))?.kind
                == .tooLarge)
        let extras = { (count: Int) in
            Samples.envelope().replacing("truck-12", with: String(repeating: "x", count: count))
        }
        #expect(Samples.fault(extras(1000), limits: Limits(extras: 1014)) == nil)
        #expect(Samples.fault(extras(1001), limits: Limits(extras: 1014))?.kind == .tooLarge)
        #expect(Samples.fault(Samples.envelope(), limits: Limits(unpacked: 100))?.kind == .tooLarge)
    }

    @Test("times before 2000 and more than a day ahead are named by their index") func times() throws {
        let now = try #require(Timestamp(iso8601: "2026-06-15T12:00:00Z"))
        func fault(_ time: String) throws -> Fault? {
            let broken = Samples.location.replacing("2026-06-15T12:34:10.000Z", with: time)
            return TimeRule.fault(
                in: try Samples.read(Samples.envelope(locations: [Samples.location, broken])), now: now)
        }
        #expect(try fault("2026-06-16T12:00:00.000Z") == nil)
        #expect(try fault("2026-06-16T12:00:00.001Z")?.index == 1)
        #expect(try fault("2000-01-01T00:00:00.000Z") == nil)
        #expect(try fault("1999-12-31T23:59:59.999Z")?.pointer == "/locations/1/timestamp")
        let event = Samples.event.replacing("2026", with: "2027")
        let batch = try Samples.read(Samples.envelope(events: [event]))
        #expect(TimeRule.fault(in: batch, now: now)?.pointer == "/geofence_events/0/timestamp")
        let early = Samples.envelope().replacing(Samples.batch, with: "00000000-7b1a-7c3e-9f10-2a4b6c8d0e1f")
        // An id is not refused for its time; it is not remembered.
        #expect(TimeRule.fault(in: try Samples.read(early), now: now) == nil)
        #expect(!TimeRule.isPlausible(try Samples.read(early).id, now: now))
        #expect(TimeRule.isPlausible(batch.id, now: now))
        #expect(TimeRule.isAhead(batch, now: now) && !TimeRule.isPast(batch))
    }
}
