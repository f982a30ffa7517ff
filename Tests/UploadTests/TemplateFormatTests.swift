import Base
import DaemonConfiguration
import Envelope
import Foundation
import Support
import Testing
import Tracking

@testable import Upload

@Suite("the format template") struct TemplateFormatTests {
    private static let install = "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff"
    private static let extras = #"{"driver":"\"Zo\u00eb\" 😀","lane":"7"}"#

    /// With the guide's records, unless told otherwise.
    private static func settings(
        _ location: String? = nil, _ geofence: String? = nil, root: String = "location",
        params: [String: BodyFields.Value] = [:], extras: TemplateShape.ExtrasPlace = .record,
        batchSize: Int = 100
    ) throws -> Settings.Template {
        Settings.Template(
            shape: try TemplateShape(
                rootProperty: root, params: BodyFields(params), extras: extras, batchSize: batchSize,
                location: Template(location ?? Template.Kind.location.guideText, for: .location),
                geofence: Template(geofence ?? Template.Kind.geofence.guideText, for: .geofence)))
    }

    private func request(
        _ settings: Settings.Template, _ locations: [Location], _ events: [GeofenceEvent] = [],
        extras: String? = nil
    ) throws -> Request {
        var format = TemplateFormat(settings, installID: Self.install)
        let request = format.request(
            session: FormatSamples.session, extras: extras, locations: locations, events: events)
        return try #require(request)
    }

    private func text(_ request: Request) -> String { String(decoding: request.body, as: UTF8.self) }

    /// A start, the crossing of a fence, and after a tunnel of ten minutes a position without speed, altitude, accuracy.
    private static let drive: (locations: [Location], events: [GeofenceEvent]) = {
        let start = FormatSamples.location { $0.trigger = .motion }
        var crossing = FormatSamples.event(.exit, fence: "a \"quoted\" 😀 dock")
        crossing.id = FormatSamples.uuid("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e21")
        crossing.crossing.time = FormatSamples.time.advanced(bySeconds: 4)
        var after = FormatSamples.bare
        after.id = FormatSamples.uuid("0190d4eb-a2da-7c3e-9f10-2a4b6c8d0e22")
        after.fix.time = FormatSamples.time.advanced(bySeconds: 600)
        after.fix.coordinate = FormatSamples.place(37.8, -122.4)
        return ([start, after], [crossing])
    }()

    private static let records = [
        #"{"event":"motionchange","is_moving":true,"uuid":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","#
            + #""timestamp":"2026-06-15T12:34:10.250Z","odometer":0,"mock":false,"#
            + #""coords":{"latitude":37.7749,"longitude":-122.4194,"accuracy":5.2,"speed":2.5,"heading":180.5,"#
            + #""altitude":14.3,"ellipsoidal_altitude":14.3},"activity":{"type":"in_vehicle","confidence":100},"#
            + #""battery":{"level":-1,"is_charging":false},"extras":{EXTRAS}}"#,
        #"{"event":"geofence","uuid":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e21","#
            + #""timestamp":"2026-06-15T12:34:14.250Z","odometer":0,"mock":false,"#
            + #""geofence":{"identifier":"a \"quoted\" 😀 dock","action":"EXIT"},"#
            + #""coords":{"latitude":37.7749,"longitude":-122.4194,"accuracy":4.1,"speed":-1,"heading":-1,"#
            + #""altitude":0,"ellipsoidal_altitude":0},"activity":{"type":"unknown","confidence":100},"#
            + #""battery":{"level":-1,"is_charging":false},"extras":{EXTRAS}}"#,
        #"{"event":"","uuid":"0190d4eb-a2da-7c3e-9f10-2a4b6c8d0e22","#
            + #""timestamp":"2026-06-15T12:44:10.250Z","odometer":0,"mock":false,"#
            + #""coords":{"latitude":37.8,"longitude":-122.4,"accuracy":-1,"speed":-1,"heading":-1,"#
            + #""altitude":0,"ellipsoidal_altitude":0},"activity":{"type":"unknown","confidence":100},"#
            + #""battery":{"level":-1,"is_charging":false},"extras":{EXTRAS}}"#,
    ]

    private static func expected(_ index: Int, extras: Bool = true) -> String {
        records[index].replacing("{EXTRAS}", with: extras ? Self.extras : "{}")
    }

    @Test("a drive with a gap, in the guide's records, to the byte") func golden() throws {
        let request = try request(
            Self.settings(), Self.drive.locations, Self.drive.events, extras: Self.extras)
        let records = (0..<3).map { Self.expected($0) }.joined(separator: ",")
        #expect(text(request) == "{\"location\":[\(records)]}")
        #expect(request.format == .template && request.method == .post)
        #expect(request.contentType == "application/json" && request.encoding == nil)
        #expect(request.query.isEmpty && request.headers.isEmpty && request.topic == nil)
    }

    @Test("one row a request, each by itself, to the byte") func one() throws {
        let settings = try Self.settings(batchSize: 1)
        let first = try request(settings, [Self.drive.locations[0]])
        #expect(text(first) == "{\"location\":\(Self.expected(0, extras: false))}")
        let event = try request(settings, [], Self.drive.events, extras: Self.extras)
        #expect(text(event) == "{\"location\":\(Self.expected(1))}")
        let bare = try Self.settings(root: ".", batchSize: 1)
        #expect(try text(request(bare, [Self.drive.locations[1]])) == Self.expected(2, extras: false))
        var format = TemplateFormat(settings, installID: Self.install)
        let (locations, events) = Self.drive
        for (locations, events) in [(locations, []), ([locations[0]], events), ([], [])] {
            #expect(
                format.request(
                    session: FormatSamples.session, extras: nil, locations: locations, events: events) == nil)
        }
    }

    @Test("a shape of its own, with fields beside the records, to the byte") func own() throws {
        var settings = try Self.settings(
            #"{"id": "<%= device_id %>", "at": [<%= longitude %>, <%= latitude %>], "v": <%= speed %>}"#,
            #"["<%= geofence.action %>", "<%= geofence.identifier %>", "<%= session_id %>"]"#, root: "rows",
            params: ["tenant": .text("N\"orth 😀"), "v": .integer(2)], extras: .root)
        settings.deviceID = "truck-12"
        let request = try request(
            settings, Self.drive.locations, Self.drive.events, extras: #"{"v":"x","rows":"y","driver":"7"}"#)
        #expect(
            text(request) == #"{"rows":[{"id":"truck-12","at":[-122.4194,37.7749],"v":2.5},"#
                + #"["EXIT","a \"quoted\" 😀 dock","0190d4e0-1234-7000-8000-aabbccddeeff"],"#
                + #"{"id":"truck-12","at":[-122.4,37.8],"v":-1}],"tenant":"N\"orth 😀","v":2,"driver":"7"}"#)
    }

    @Test(
        "the method that was asked for, and gzip, which changes nothing else",
        arguments: Settings.Method.allCases.filter { $0 != .get })
    func compressed(method: Settings.Method) throws {
        var settings = try Self.settings()
        settings.method = method
        let plain = try request(settings, Self.drive.locations)
        settings.compress = true
        let compressed = try request(settings, Self.drive.locations)
        #expect(plain.method == method && compressed.method == method)
        #expect(compressed.encoding == "gzip" && compressed.contentType == plain.contentType)
        #expect(compressed.body == Gzip()?.compress(plain.body))
    }

    @Test("a form, a query, and lines, each with its type, or with that of the configuration") func bodies()
        throws
    {
        func settings(_ text: String, _ body: TemplateBody, _ method: Settings.Method) throws
            -> Settings.Template
        {
            var settings = Settings.Template(
                shape: try TemplateShape(
                    params: BodyFields(), batchSize: 1, isQuery: method == .get,
                    location: Template(text, for: .location, as: body), geofence: nil))
            settings.method = method
            return settings
        }
        let row = [Self.drive.locations[0]]
        let form = try settings(#"{"lat": <%= latitude %>, "v": "a b"}"#, .form, .put)
        #expect(
            try request(form, row)
                == Request(
                    format: .template, method: .put, contentType: "application/x-www-form-urlencoded",
                    body: Array("lat=37.7749&v=a%20b".utf8)))
        var query = try settings(#"{"lat": <%= latitude %>, "v": "a b"}"#, .form, .get)
        query.contentType = "text/x"
        let got = try request(query, row)
        #expect(got == Request(format: .template, method: .get, query: "lat=37.7749&v=a%20b", body: []))
        #expect(got.url("http://a/b?c=d") == "http://a/b?c=d&lat=37.7749&v=a%20b")
        #expect(Request(format: "template", head: got.head, body: []) == got)
        var lines = try settings("p lat=<%= latitude %> <%= timestamp.seconds %>", .text, .post)
        #expect(try text(request(lines, row)) == "p lat=37.7749 1781526850\n")
        #expect(try request(lines, row).contentType == "text/plain; charset=utf-8")
        (lines.contentType, lines.compress) = ("text/x-lines", true)
        let packed = try request(lines, row)
        #expect(packed.contentType == "text/x-lines" && packed.encoding == "gzip")
        #expect(Request(format: "template", head: packed.head, body: packed.body) == packed)
    }

    @Test("whatever the numbers and the times, it is JSON with these values") func hostile() throws {
        var rows = FormatSamples.extremes
        rows.append(
            FormatSamples.location {
                $0.fix.speed = .infinity
                $0.fix.altitude = .nan
                $0.fix.accuracy = -.infinity
                $0.fix.bearing = 1e300
            })
        var event = FormatSamples.event(fence: String(repeating: "\u{1F}\"\\", count: 33))
        event.coordinate = nil
        let root =
            try JSONSerialization.jsonObject(
                with: Data(request(Self.settings(), rows, [event]).body)) as? [String: Any]
        let records = try #require(root?["location"] as? [[String: Any]])
        #expect(records.count == rows.count + 1)
        let times = records.compactMap { ($0["timestamp"] as? String).flatMap { Timestamp(iso8601: $0) } }
        #expect(times.count == records.count && times == times.sorted())
        let fence = records.compactMap { $0["geofence"] as? [String: String] }
        #expect(fence == [["identifier": event.crossing.geofence, "action": "EXIT"]])
    }

    @Test("metres per second: the distance driven, from the speeds that go out") func units() throws {
        let rows = (0..<600).map { second in
            FormatSamples.location {
                $0.fix.time = FormatSamples.time.advanced(bySeconds: Double(second))
                $0.fix.speed = 10 + Double(second % 40) / 4
            }
        }
        let root =
            try JSONSerialization.jsonObject(
                with: Data(request(Self.settings(), rows).body)) as? [String: Any]
        let records = try #require(root?["location"] as? [[String: Any]])
        let speeds = records.compactMap { ($0["coords"] as? [String: Any])?["speed"] as? Double }
        #expect(speeds == rows.compactMap(\.fix.speed))
    }

    @Test("large templates and extras make for fewer rows, and others for as many as are asked for")
    func rowLimit() throws {
        func limit(_ settings: Settings.Template, _ extras: Int) throws -> Int {
            let format = TemplateFormat(settings, installID: Self.install)
            return format.rowLimit(extras: String(repeating: "x", count: extras))
        }
        #expect(try limit(Self.settings(), 1000) > 1000)
        #expect(try (50..<100).contains(limit(Self.settings(), 64_000)))
        #expect(try limit(Self.settings(extras: .root), 64_000) > 1000)
        #expect(try limit(Self.settings(), 20_000_000) == 1)
        let large = "[" + Array(repeating: "<%= speed %>", count: 100).joined(separator: ",") + "]"
        #expect(try (200..<1000).contains(limit(Self.settings(large), 0)))
    }

    @Test("the largest extras that there can be go out whole")
    func largest() throws {
        var extras: [String: String] = [:]
        for index in 0..<64 {
            extras[String(format: "%02d", index) + String(repeating: "k", count: 98)] = String(
                repeating: "\u{1F}", count: 1024)
        }
        let text = String(decoding: try JSONSerialization.data(withJSONObject: extras), as: UTF8.self)
        let request = try request(Self.settings(batchSize: 1), [FormatSamples.bare], extras: text)
        let root = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: [String: Any]]
        #expect(root?["location"]?["extras"] as? [String: String] == extras)
    }

    @Test("answers mean what they mean to the format beekon") func answers() {
        for status in 100...599 {
            for body in ["", "<html>", "{\"batch_id\":\"\(FormatSamples.id)\"}"] {
                for id in [FormatSamples.id, nil] {
                    let answer = answer(status, body, ["Retry-After: 7"])
                    let time = Timestamp(milliseconds: 0)
                    #expect(
                        Format.template.judge(answer, acknowledging: id, at: time)
                            == Format.beekon.judge(answer, acknowledging: id, at: time))
                }
            }
        }
        #expect(Format.template.advice(.status(405)).contains("method"))
        #expect(Format.template.advice(.status(415)).contains("compress"))
        #expect(Format.template.advice(.status(414)).contains("url too long"))
        #expect(Format.template.advice(.status(422)).contains("location_template"))
        #expect(Format.template.advice(.status(404)) == Format.beekon.advice(.status(404)))
    }
}
