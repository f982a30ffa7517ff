import Base
import Foundation
import Testing
import Tracking

@testable import Envelope

@Suite("the bytes of an upload") struct PayloadTests {
    private let device = Device(
        installID: "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff", platform: "linux", version: "0.1.0",
        model: "Raspberry Pi 4")
    private let batch: UUIDv7
    private let session: UUIDv7
    private let sentAt: Timestamp
    private let sample: Location

    init() throws {
        batch = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"))
        session = try #require(UUIDv7("0190d4e0-1234-7000-8000-aabbccddeeff"))
        sentAt = try #require(Timestamp(iso8601: "2026-06-15T12:34:56.789Z"))
        sample = Location(
            id: try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")), session: session,
            fix: Fix(
                time: try #require(Timestamp(iso8601: "2026-06-15T12:34:10.000Z")), mode: 3,
                coordinate: try #require(Coordinate(latitude: 37.7749, longitude: -122.4194)), accuracy: 5.2,
                speed: 2.5, bearing: 180, altitude: 14.3),
            trigger: .interval, motion: .moving)
    }

    private func location(_ change: (inout Location) -> Void = { _ in }) -> Location {
        var location = sample
        change(&location)
        return location
    }

    private func text(_ locations: [Location], extras: String? = nil, device: Device? = nil) -> String {
        var payload = BeekonPayload(device: device ?? self.device)
        let bytes = payload.encode(
            batch: batch, session: session, sentAt: sentAt, extras: extras, locations: locations)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("the envelope of the contract, to the byte") func golden() {
        #expect(
            text([location()], extras: "{\"user_id\":\"truck-12\"}") == """
                {"schema_version":1,"batch_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f",\
                "session_id":"0190d4e0-1234-7000-8000-aabbccddeeff","sent_at":"2026-06-15T12:34:56.789Z",\
                "device":{"install_id":"0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff","platform":"linux",\
                "sdk_version":"0.1.0","model":"Raspberry Pi 4"},"extras":{"user_id":"truck-12"},\
                "locations":[{"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","timestamp":"2026-06-15T12:34:10.000Z",\
                "trigger":"interval","motion":"moving","is_mock":false,"latitude":37.7749,"longitude":-122.4194,\
                "accuracy":5.2,"speed":2.5,"bearing":180,"altitude":14.3}],"geofence_events":[]}
                """)
    }

    @Test("whether the ignition was on, where that is known") func ignition() {
        #expect(text([location { $0.ignition = true }]).contains("\"altitude\":14.3,\"ignition\":true}]"))
        #expect(text([location { $0.ignition = false }]).contains("\"altitude\":14.3,\"ignition\":false}]"))
        // The battery goes with heartbeats.
        let battery = location { $0.battery = Battery(percent: 83, state: .full) }
        #expect(text([battery]) == text([location()]))
    }

    @Test("the battery in an envelope without rows") func battery() {
        var payload = BeekonPayload(device: device)
        let status = VehicleStatus(
            state: "idle", motion: "unknown", receiver: "ok", pending: 0, ignition: true,
            battery: Battery(percent: 83, state: .unplugged), version: "0.1.0", uptime: 1)
        let bytes = payload.encode(
            envelope: batch, session: session, sentAt: sentAt, extras: nil, status: status, results: [])
        #expect(
            String(decoding: bytes, as: UTF8.self).contains(
                #""ignition":true,"battery_level":0.83,"battery_state":"unplugged","version":"0.1.0""#))
    }

    @Test("an envelope without rows, to the byte") func heartbeat() throws {
        func body(_ status: VehicleStatus, _ results: [String], _ params: BodyFields = BodyFields()) -> String
        {
            var payload = BeekonPayload(device: device, params: params)
            let bytes = payload.encode(
                envelope: batch, session: session, sentAt: sentAt, extras: "{\"user_id\":\"truck-12\"}",
                status: status, results: results)
            return String(decoding: bytes, as: UTF8.self)
        }
        let head = """
            {"schema_version":1,"batch_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f",\
            "session_id":"0190d4e0-1234-7000-8000-aabbccddeeff","sent_at":"2026-06-15T12:34:56.789Z",\
            "device":{"install_id":"0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff","platform":"linux",\
            "sdk_version":"0.1.0","model":"Raspberry Pi 4"},"extras":{"user_id":"truck-12"},\
            "locations":[],"geofence_events":[],"status":
            """
        let whole = VehicleStatus(
            state: "stopped", motion: "unknown", receiver: "released", pending: 3,
            oldestPending: Timestamp(iso8601: "2026-06-15T12:34:10.000Z"), odometer: 12_345.5,
            ignition: false,
            version: "0.1.0", uptime: 86_400, heartbeat: 3600, commands: ["locate", "set_config"],
            fences: Geofences.Summary(count: 2, digest: 0x0EB9_0C31_7F0D_118B))
        let fields = """
            {"state":"stopped","motion":"unknown","receiver":"released","pending":3,\
            "oldest_pending":"2026-06-15T12:34:10.000Z","odometer_meters":12345.5,"ignition":false,\
            "version":"0.1.0","uptime_seconds":86400,"heartbeat_seconds":3600,\
            "commands":["locate","set_config"],"fences":{"count":2,"digest":"0eb90c317f0d118b"}}
            """
        let results = [
            #"{"id":"c-17","command":"stop","ok":true}"#, #"{"id":"c-18","command":"x","ok":false}"#,
        ]
        #expect(
            body(whole, results, try BodyFields(["tenant": .text("north")])) == head + fields
                + ",\"command_results\":[" + results.joined(separator: ",") + "],\"tenant\":\"north\"}")
        let bare = VehicleStatus(
            state: "tracking", motion: "moving", receiver: "ok", pending: 0, odometer: .nan, version: "0.1.0",
            uptime: 0)
        #expect(
            body(bare, []) == head
                + #"{"state":"tracking","motion":"moving","receiver":"ok","pending":0,"version":"0.1.0","uptime_seconds":0}}"#
        )
    }

    @Test("fields that the configuration adds come last, and without any the bytes are as ever") func params()
        throws
    {
        let fields = try BodyFields(["tenant": .text("N\"orth 😀"), "Z": .number(0.5), "live": .boolean(true)])
        func body(_ payload: consuming BeekonPayload) -> String {
            let bytes = payload.encode(
                batch: batch, session: session, sentAt: sentAt, extras: nil, locations: [])
            return String(decoding: bytes, as: UTF8.self)
        }
        let plain = body(BeekonPayload(device: device))
        #expect(plain.hasSuffix(",\"geofence_events\":[]}"))
        #expect(
            body(BeekonPayload(device: device, params: fields)) == plain.dropLast()
                + #","Z":0.5,"live":true,"tenant":"N\"orth 😀"}"#)
    }

    @Test("what is absent is left out, never null") func omission() {
        var bare = device
        bare.model = nil
        let poor = location {
            $0.fix.accuracy = nil
            $0.fix.speed = nil
            $0.fix.bearing = nil
            $0.fix.altitude = nil
        }
        let text = text([poor], device: bare)
        #expect(text.contains("\"longitude\":-122.4194}]"))
        for word in ["null", "model", "extras", "accuracy", "activity", "quality"] {
            #expect(!text.contains(word))
        }
        #expect(self.text([]).contains("\"locations\":[],\"geofence_events\":[]"))
    }

    @Test("geofence events, in the order of their fields") func events() throws {
        let event = GeofenceEvent(
            id: try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")), session: session,
            crossing: Crossing(
                geofence: "do\"ck", kind: .exit, time: Timestamp(milliseconds: 1_781_526_845_000)))
        var removed = event
        removed.reason = .removed
        var payload = BeekonPayload(device: device)
        let bytes = payload.encode(
            batch: session, session: session, sentAt: event.crossing.time, extras: nil, locations: [],
            events: [event, removed])
        let expected = """
            {"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","geofence_id":"do\\"ck","type":"exit",\
            "timestamp":"2026-06-15T12:34:05.000Z"}
            """
        #expect(
            String(decoding: bytes, as: UTF8.self).hasSuffix(
                ",\"locations\":[],\"geofence_events\":[\(expected),\(expected.dropLast()),\"reason\":\"removed\"}]}"
            ))
    }

    @Test("events of the vehicle, in a field that is there only with them") func vehicleEvents() throws {
        let place = try #require(Coordinate(latitude: 37.7749, longitude: -122.4194))
        let time = Timestamp(milliseconds: 1_781_526_845_000)
        let id = try #require(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"))
        let bare = VehicleEvent(
            id: id, session: session, happening: .ignitionOff, time: .known(time, isEstimated: true))
        let full = VehicleEvent(
            id: id, session: session, happening: .dwell, subject: "do\"ck",
            data: EventData.json([
                "dwell_seconds": .number(900), "entered_at": .time(time), "left": nil, "z": .flag(true),
                "name": .text("\n"), "far": .number(.infinity), "share": .number(0.25),
            ]),
            time: .known(time, isEstimated: false), place: .init(place, accuracy: 5))
        var payload = BeekonPayload(device: device)
        let bytes = payload.encode(
            batch: session, session: session, sentAt: time, extras: nil, locations: [],
            vehicleEvents: [bare, full])
        let expected = """
            ,"locations":[],"geofence_events":[],"events":[\
            {"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","kind":"ignition","type":"off",\
            "timestamp":"2026-06-15T12:34:05.000Z","time_estimated":true},\
            {"id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","kind":"dwell","type":"dwell","subject":"do\\"ck",\
            "timestamp":"2026-06-15T12:34:05.000Z","latitude":37.7749,"longitude":-122.4194,"accuracy":5,\
            "data":{"dwell_seconds":900,"entered_at":"2026-06-15T12:34:05.000Z","z":true,"name":"\\u000a",\
            "share":0.25}}]}
            """
        #expect(String(decoding: bytes, as: UTF8.self).hasSuffix(expected))
        #expect(EventData.json([:]) == nil && EventData.json(["a": .number(.nan), "b": nil]) == nil)
    }

    @Test("words of what a fix means") func words() {
        let text = text([
            location {
                $0.trigger = .checkIn
                $0.motion = .stationary
                $0.activity = .automotive
                $0.quality = .implausibleSpeed
                $0.fix.isMock = true
            }
        ])
        #expect(text.contains("\"trigger\":\"check_in\",\"motion\":\"stationary\",\"is_mock\":true"))
        #expect(text.contains("\"activity\":\"automotive\",\"quality\":\"implausible_speed\"}"))
    }

    @Test(
        "numbers: integral ones without a point, minus zero is zero",
        arguments: [
            (180.0, "180"), (-0.0, "0"), (0.0, "0"), (0.1, "0.1"), (1e16, "1e+16"), (5e-7, "5e-07"),
            (-3.0, "-3"),
            (123_456.789, "123456.789"), (0.1 + 0.2, "0.30000000000000004"),
        ])
    func numbers(value: Double, expected: String) {
        #expect(text([location { $0.fix.altitude = value }]).contains("\"altitude\":\(expected)}"))
    }

    @Test("every number reads back as the same Double") func roundTrip() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            let value = Double(bitPattern: random.next())
            guard value.isFinite else { continue }
            let text = text([location { $0.fix.altitude = value }])
            let digits = try #require(text.split(separator: "\"altitude\":").last).prefix { $0 != "}" }
            // strtod reads exactly; JSONSerialization does not.
            #expect(strtod(String(digits), nil) == value)
        }
    }

    @Test("texts from outside stay texts") func escaping() throws {
        let nasty = "a\"b\\c\n\u{1}é😀\u{7F}"
        var strange = device
        strange.model = nasty
        let extras = JSONString.object(["b": nasty, "a": "1", nasty: "x"])
        let data = Data(text([], extras: extras, device: strange).utf8)
        let root = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        #expect((root?["device"] as? [String: Any])?["model"] as? String == nasty)
        #expect(root?["extras"] as? [String: String] == ["b": nasty, "a": "1", nasty: "x"])
        #expect(extras?.hasPrefix("{\"a\":\"1\",\"a\\\"b") == true)
        #expect(JSONString.object([:]) == nil)
    }

    @Test("the same input gives the same bytes, compressed too") func identical() {
        let rows = (0..<100).map { index in location { $0.fix.speed = Double(index) } }
        let first = text(rows)
        #expect(first == text(rows))
        guard let gzip = Gzip(), let body = gzip.compress(Array(first.utf8)) else {
            Issue.record("zlib does not work here")
            return
        }
        _ = gzip.compress(Array("something else".utf8))
        #expect(gzip.compress(Array(first.utf8)) == body)
        #expect(body.prefix(4) == [0x1F, 0x8B, 8, 0] && body[4..<8] == [0, 0, 0, 0])
    }
}
