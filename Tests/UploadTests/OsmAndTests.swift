import Base
import DaemonConfiguration
import Linux
import Testing
import Tracking

@testable import Upload

@Suite("the format osmand") struct OsmAndTests {
    private let format = OsmAndFormat(.init(deviceID: "truck-12"))

    private func query(_ change: (inout Location) -> Void = { _ in }, extras: String? = nil) -> String {
        format.request(FormatSamples.location(change), extras: extras).query
    }

    @Test("a location, to the byte, in both units") func golden() {
        let request = format.request(FormatSamples.location(), extras: nil)
        let start = "id=truck-12&timestamp=1781526850&lat=37.7749&lon=-122.4194"
        let end = "&bearing=180.5&altitude=14.3&accuracy=5.2&motion=true&valid=true"
        #expect(request.query == start + "&speed=4.859611" + end)
        #expect(request.body.isEmpty && request.contentType == nil && request.headers.isEmpty)
        let other = OsmAndFormat(.init(deviceID: "truck-12", speedUnit: .mps))
        #expect(other.request(FormatSamples.location(), extras: nil).query == start + "&speed=2.5" + end)
    }

    @Test("the odometer in metres") func odometer() {
        #expect(query { $0.mileage = 123_456_789 }.hasSuffix("&valid=true&odometer=123456789"))
    }

    @Test("what the vehicle says of itself") func vehicle() {
        #expect(query { $0.ignition = true }.hasSuffix("&valid=true&ignition=true"))
        #expect(
            query {
                $0.mileage = 7
                $0.ignition = false
                $0.battery = Battery(percent: 83, state: .unplugged)
                $0.trigger = .motion
            }.hasSuffix("&odometer=7&ignition=false&batt=83&charge=false&event=motionchange"))
        let states: [(Battery.State, String)] = [
            (.unknown, ""), (.charging, "&charge=true"), (.full, "&charge=true"),
        ]
        for (state, text) in states {
            #expect(
                query { $0.battery = Battery(percent: 0, state: state) }.hasSuffix(
                    "&valid=true&batt=0" + text))
        }
    }

    @Test("what is unknown is left out") func bare() {
        #expect(
            format.request(FormatSamples.bare, extras: "{}").query
                == "id=truck-12&timestamp=1781526850&lat=37.7749&lon=-122.4194&valid=true")
        let infinite = query {
            $0.fix.speed = .infinity
            $0.fix.altitude = .nan
        }
        #expect(!infinite.contains("speed") && !infinite.contains("altitude"))
    }

    @Test(
        "events that have a word",
        arguments: zip(
            Trigger.allCases, ["", "&event=motionchange", "&event=heartbeat", "&event=geofence", ""]))
    func events(trigger: Trigger, expected: String) {
        #expect(query { $0.trigger = trigger }.hasSuffix("&motion=true&valid=true" + expected))
        #expect(query { $0.motion = .stationary }.contains("&motion=false&"))
    }

    @Test("a moment that Traccar would take for milliseconds is written in those")
    func farAhead() {
        for (milliseconds, text) in [
            (-1, "-1"), (-1500, "-2"), (0, "0"), (2_147_483_646_999, "2147483646"),
            (2_147_483_647_000, "2147483647000"), (4_102_444_800_123, "4102444800123"),
        ] as [(Int64, String)] {
            let query = query { $0.fix.time = Timestamp(milliseconds: milliseconds) }
            #expect(query.contains("&timestamp=\(text)&lat="))
        }
    }

    @Test("the plus of an exponent is no space") func exponents() {
        let query = query {
            $0.fix.altitude = 1e16
            $0.fix.coordinate = FormatSamples.place(-1e-7, 5e-10)
        }
        #expect(query.contains("&altitude=1e%2B16&"))
        #expect(query.contains("&lat=-1e-07&lon=5e-10&"))
    }

    @Test("ids and extras are escaped") func escaping() {
        let format = OsmAndFormat(.init(deviceID: "a&b=c d/é😀\"#"))
        let query = format.request(FormatSamples.bare, extras: #"{"k&y":"v=1+2 \"😀\";"}"#).query
        #expect(query.hasPrefix("id=a%26b%3Dc%20d%2F%C3%A9%F0%9F%98%80%22%23&timestamp="))
        #expect(query.hasSuffix("&valid=true&k%26y=v%3D1%2B2%20%22%F0%9F%98%80%22%3B"))
    }

    @Test(
        "extras in the order of their names; those that mean something else, or have no one value, not",
        arguments: [
            (#"{"b":"2","a":"1"}"#, "&a=1&b=2"),
            (#"{"n":1.50e0,"t":true,"f":false}"#, "&f=false&n=1.50e0&t=true"),
            (#"{"x":null,"y":[1],"z":{"a":1}}"#, ""), ("", ""), ("[1]", ""), ("{", ""), (#"{"":"v"}"#, ""),
            (
                #"{"id":"other","deviceid":"other","Lat":"0","location":"0,0","wifi":"x","driver":"7"}"#,
                "&driver=7"
            ),
            (#"{"lat[x]":"0","  lon":"0","event":"x","ignition":"x","hdop":"x","batt":"x"}"#, ""),
            (#"{"driverUniqueId":"7","latitude":"0"}"#, "&driverUniqueId=7&latitude=0"),
        ])
    func extras(json: String, expected: String) {
        #expect(query(extras: json) == query() + expected)
    }

    @Test("the request line stays within what Traccar reads; what does not fit is left out whole")
    func length() {
        let long = String(repeating: "é", count: 600)
        let query = query(extras: "{\"a\":\"1\",\"b\":\"\(long)\",\"c\":\"2\"}")
        #expect(query.hasSuffix("&valid=true&a=1&c=2"))
        let members = (100...900).map { "\"k\($0)\":\"v\"" }.joined(separator: ",")
        let many = self.query(extras: "{\(members)}")
        #expect((3000...OsmAndFormat.queryLimit).contains(many.utf8.count))
        #expect(many.contains("&k100=v&k101=v&"))
    }

    @Test("a url may have parameters of its own")
    func urls() {
        let request = Request(format: .osmand, query: "id=1", body: [])
        for (configured, expected) in [
            ("http://t:5055", "http://t:5055?id=1"), ("http://t/a", "http://t/a?id=1"),
            ("http://t/a?", "http://t/a?id=1"), ("http://t/a?k=v", "http://t/a?k=v&id=1"),
            ("http://t/a?k=v&", "http://t/a?k=v&id=1"),
        ] {
            #expect(request.url(configured) == expected)
        }
        #expect(Request(format: .osmand, body: []).url("http://t/?x") == "http://t/?x")
    }

    @Test("on the wire: a POST without a body, and without a type that would make Traccar look for one")
    func wire() throws {
        let server = try answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        var sync = Settings.Sync()
        sync.url = server.url + "?key=v"
        let request = format.request(FormatSamples.bare, extras: nil)
        let options = RequestFactory(sync, version: "1").options(for: request, authorization: nil)
        let client = try httpClient()
        let seen = client.ask(request.body, options, wakeup: try Wakeup()) { false }
        #expect(seen == .response(status: 200, retryAfter: nil))
        let sent = try #require(server.requests.first)
        #expect(sent.hasPrefix("POST /up?key=v&id=truck-12&timestamp=1781526850&lat="))
        #expect(!sent.lowercased().contains("content-type"))
        #expect(sent.contains("Content-Length: 0\r\n"))
    }
}
