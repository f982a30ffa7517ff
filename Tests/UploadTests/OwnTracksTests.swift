import Base
import Foundation
import Testing
import Tracking

@testable import DaemonConfiguration
@testable import Upload

@Suite("the format owntracks") struct OwnTracksTests {
    private let format = OwnTracksFormat(user: "fleet", deviceID: "truck-12")

    private func text(_ request: Request?) -> String {
        String(decoding: request?.body ?? [], as: UTF8.self)
    }

    private func text(_ change: (inout Location) -> Void) -> String {
        text(format.request(FormatSamples.location(change), sentAt: FormatSamples.sentAt))
    }

    @Test("a location, to the byte") func golden() {
        let request = format.request(FormatSamples.location(), sentAt: FormatSamples.sentAt)
        #expect(
            text(request) == """
                {"_type":"location","lat":37.7749,"lon":-122.4194,"tst":1781526850,"acc":6,"alt":14,"vel":9,"cog":181,\
                "tid":"12","t":"t","topic":"owntracks/fleet/truck-12",\
                "_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","created_at":1781526910}
                """)
        #expect(request.topic == "owntracks/fleet/truck-12")
        #expect(request.contentType == "application/json" && request.encoding == nil)
        #expect(
            request.headers == [
                .init(name: .limitUser, value: "fleet"), .init(name: .limitDevice, value: "truck-12"),
            ])
    }

    @Test("the odometer in kilometres") func odometer() {
        #expect(text { $0.mileage = 123_456_789 }.contains(",\"cog\":181,\"odometer\":123456.789,\"tid\""))
    }

    @Test("what the vehicle says of itself") func vehicle() {
        #expect(text { $0.ignition = true }.contains(",\"cog\":181,\"ign\":true,\"motion\":true,\"tid\""))
        #expect(
            text {
                $0.ignition = false
                $0.motion = .stationary
                $0.battery = Battery(percent: 83, state: .unplugged)
            }.contains(",\"ign\":false,\"motion\":false,\"batt\":83,\"bs\":1,\"tid\""))
        #expect(
            text {
                $0.ignition = false
                $0.motion = .unknown
            }.contains(",\"ign\":false,\"tid\""))
        for (state, code) in zip(Battery.State.allCases, 0...) {
            #expect(
                text { $0.battery = Battery(percent: 100, state: state) }.contains(
                    ",\"cog\":181,\"batt\":100,\"bs\":\(code),\"tid\""))
        }
    }

    @Test("a heartbeat is the location as a ping, to the byte") func ping() {
        let request = format.request(
            FormatSamples.location(), sentAt: FormatSamples.sentAt, isPing: true)
        #expect(
            text(request) == """
                {"_type":"location","lat":37.7749,"lon":-122.4194,"tst":1781526850,"acc":6,"alt":14,"vel":9,"cog":181,\
                "tid":"12","t":"p","topic":"owntracks/fleet/truck-12",\
                "_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","created_at":1781526910}
                """)
    }

    @Test("what is unknown is left out, except accuracy") func bare() {
        let request = OwnTracksFormat(user: nil, deviceID: "x").request(
            FormatSamples.bare, sentAt: FormatSamples.sentAt)
        #expect(
            text(request) == """
                {"_type":"location","lat":37.7749,"lon":-122.4194,"tst":1781526850,"acc":100,"tid":"x","t":"t",\
                "topic":"owntracks/beekon/x","_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","created_at":1781526910}
                """)
    }

    @Test("an entry and an exit, to the byte") func transitions() {
        let request = format.request(FormatSamples.event(.exit, fence: "do\"ck 😀"))
        #expect(
            text(request) == """
                {"_type":"transition","event":"leave","desc":"do\\"ck 😀","tst":1781526850,"wtst":1781000000,\
                "lat":37.7749,"lon":-122.4194,"acc":5,"tid":"12","t":"c","rid":"do\\"ck 😀",\
                "_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"}
                """)
        #expect(request?.topic == "owntracks/fleet/truck-12/event")
        #expect(
            text(format.request(FormatSamples.event(.enter))).contains(
                "\"event\":\"enter\",\"desc\":\"home\""))
    }

    @Test("an event that was stored without a position gets one from the caller, or is no request")
    func olderEvents() {
        var event = FormatSamples.event()
        (event.accuracy, event.fenceAddedAt) = (nil, nil)
        #expect(
            text(format.request(event)).contains("\"wtst\":0,\"lat\":37.7749,\"lon\":-122.4194,\"acc\":100,"))
        // The centre of the fence.
        event.accuracy = 0
        #expect(text(format.request(event)).contains("\"lon\":-122.4194,\"acc\":0,"))
        event.coordinate = nil
        #expect(format.request(event) == nil)
    }

    @Test(
        "accuracy is rounded up, at least 1",
        arguments: [
            (0.0, 1), (0.2, 1), (1, 1), (1.01, 2), (12, 12), (1e300, 2_147_483_647), (.nan, 100),
            (.infinity, 100),
        ] as [(Double, Int)])
    func accuracy(value: Double, expected: Int) {
        #expect(text { $0.fix.accuracy = value }.contains("\"acc\":\(expected),"))
    }

    @Test(
        "kilometres an hour, whole degrees and metres",
        arguments: [
            (0.0, 0.0, 0.0, "\"alt\":0,\"vel\":0,\"cog\":0,"),
            (13.8889, 359.5, -0.4, "\"alt\":0,\"vel\":50,\"cog\":0,"),
            (0.13, 359.4, -430.5, "\"alt\":-431,\"vel\":0,\"cog\":359,"),
            (1e300, 90, 1e300, "\"alt\":2147483647,\"vel\":2147483647,\"cog\":90,"),
        ])
    func units(speed: Double, bearing: Double, altitude: Double, expected: String) {
        let text = text {
            $0.fix.speed = speed
            $0.fix.bearing = bearing
            $0.fix.altitude = altitude
        }
        #expect(text.contains(expected))
    }

    @Test("the trigger, by the table", arguments: zip(Trigger.allCases, ["t", "t", "p", "c", "u"]))
    func triggers(trigger: Trigger, letter: String) {
        #expect(text { $0.trigger = trigger }.contains("\"t\":\"\(letter)\","))
    }

    @Test("names that would make another topic, header or message of it are escaped")
    func hostile() throws {
        for name in ["a/b", "#", "a\"b\\", "x\r\nAuthorization: y", "😀é", " ", "+"] {
            let format = OwnTracksFormat(user: name, deviceID: name)
            let request = format.request(FormatSamples.location(), sentAt: FormatSamples.sentAt)
            let root = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
            #expect(root?["tid"] as? String == String(name.suffix(2)))
            #expect(root?["topic"] as? String == format.topic)
            #expect(format.topic.split(separator: "/", omittingEmptySubsequences: false).count == 3)
            for text in request.headers.map(\.value) + [format.topic] {
                #expect(text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 && $0 != 0x2B })
            }
        }
    }

    @Test("poles, the date line, long ago and far ahead") func extremes() throws {
        for row in FormatSamples.extremes {
            let body = format.request(row, sentAt: row.fix.time).body
            let root = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
            #expect(root["lat"] as? Double == row.fix.coordinate.latitude)
            #expect(root["lon"] as? Double == row.fix.coordinate.longitude)
            let seconds = try #require(root["tst"] as? Int64)
            #expect(
                (0...0.999).contains(row.fix.time.seconds(since: Timestamp(milliseconds: seconds * 1000))))
        }
    }

    @Test(
        "a password goes with a request by HTTP; a name alone is for the topic",
        arguments: [
            ("fleet", "it's ok", nil, "Authorization: Basic ZmxlZXQ6aXQncyBvaw=="), ("fleet", nil, nil, nil),
            ("fleet", "it's ok", Settings.MQTT(), nil),
        ] as [(String, String?, Settings.MQTT?, String?)])
    func login(user: String, password: String?, mqtt: Settings.MQTT?, line: String?) {
        var sync = Settings.Sync()
        sync.format = .owntracks(
            Settings.OwnTracks(
                deviceID: "van", username: Secret(user), password: password.map { Secret($0) }, mqtt: mqtt))
        let request = OwnTracksFormat(user: user, deviceID: "van")
            .request(FormatSamples.location(), sentAt: FormatSamples.sentAt)
        let headers = RequestFactory(sync, version: "1").options(for: request, authorization: nil).headers
        #expect(headers.first { $0.hasPrefix("Authorization") } == line)
    }
}
