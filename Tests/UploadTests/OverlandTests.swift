import Base
import DaemonConfiguration
import Foundation
import Testing
import Tracking

@testable import Upload

@Suite("the format overland") struct OverlandTests {
    private let format = OverlandFormat(deviceID: "truck-12")

    private func text(_ locations: [Location]) -> String {
        String(decoding: format.request(locations).body, as: UTF8.self)
    }

    @Test("a batch, to the byte") func golden() {
        let request = format.request([FormatSamples.location(), FormatSamples.bare])
        #expect(
            String(decoding: request.body, as: UTF8.self) == """
                {"locations":[{"type":"Feature","geometry":{"type":"Point","coordinates":[-122.4194,37.7749]},\
                "properties":{"timestamp":"2026-06-15T12:34:10.250Z","altitude":14.3,"speed":2.5,"course":180.5,\
                "horizontal_accuracy":5.2,"motion":["driving"],"device_id":"truck-12",\
                "id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","unique_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"}},\
                {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.4194,37.7749]},\
                "properties":{"timestamp":"2026-06-15T12:34:10.250Z","speed":-1,"course":-1,\
                "horizontal_accuracy":-1,"motion":[],"device_id":"truck-12",\
                "id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20","unique_id":"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20"}}]}
                """)
        #expect(request.contentType == "application/json")
        #expect(request.encoding == nil && request.query.isEmpty && request.topic == nil)
    }

    @Test("the level of a battery where there is one, from 0 to 1") func battery() {
        for (percent, level) in [(0, "0"), (7, "0.07"), (100, "1")] {
            let row = FormatSamples.location { $0.battery = Battery(percent: percent, state: .charging) }
            #expect(text([row]).contains("\"motion\":[\"driving\"],\"battery_level\":\(level),\"device_id\""))
        }
    }

    @Test("an empty batch, which changes nothing, and no name where the url has it")
    func empty() {
        #expect(text([]) == "{\"locations\":[]}")
        let unnamed = OverlandFormat(deviceID: nil).request([FormatSamples.location()])
        #expect(!String(decoding: unnamed.body, as: UTF8.self).contains("device_id"))
    }

    @Test("a time on the second has no fraction; unique_id names the location, or the device")
    func details() {
        let row = FormatSamples.location { $0.fix.time = Timestamp(milliseconds: 1_781_526_850_000) }
        #expect(text([row]).contains("\"timestamp\":\"2026-06-15T12:34:10Z\","))
        for milliseconds in [1, 10, 100, 999] {
            let row = FormatSamples.location {
                $0.fix.time = Timestamp(milliseconds: 1_781_526_850_000 + Int64(milliseconds))
            }
            let fraction = "\(1000 + milliseconds)".dropFirst()
            #expect(text([row]).contains("T12:34:10.\(fraction)Z\""))
        }
        let device = OverlandFormat(deviceID: "a", uniqueID: "b\"c").request([row])
        let written = String(decoding: device.body, as: UTF8.self)
        #expect(written.contains("\"id\":\"\(row.id)\",\"unique_id\":\"b\\\"c\"}"))
        #expect(!written.contains("battery"))
        var settings = Settings.Overland()
        #expect(OverlandFormat(settings, installID: "i") == OverlandFormat(deviceID: nil))
        (settings.deviceID, settings.uniqueID) = ("d", .device)
        #expect(OverlandFormat(settings, installID: "i") == OverlandFormat(deviceID: "d", uniqueID: "i"))
    }

    @Test(
        "motion: the activity, else whether it stands still",
        arguments: [
            (.stationary, .moving, "\"stationary\""), (.walking, .moving, "\"walking\""),
            (.running, .unknown, "\"running\""), (.cycling, .moving, "\"cycling\""),
            (.automotive, .stationary, "\"driving\""), (.unknown, .stationary, "\"stationary\""),
            (.unknown, .moving, ""), (nil, .stationary, "\"stationary\""), (nil, .moving, ""),
            (nil, .unknown, ""),
        ] as [(Activity?, MotionState, String)])
    func motion(activity: Activity?, motion: MotionState, word: String) {
        let row = FormatSamples.location {
            $0.activity = activity
            $0.motion = motion
        }
        #expect(text([row]).contains("\"motion\":[\(word)],"))
    }

    @Test("whatever the id and the numbers, it is JSON, and every timestamp can be read")
    func hostile() throws {
        var format = format
        format.deviceID = "a\"b\\c\n😀"
        var rows = FormatSamples.extremes
        rows.append(
            FormatSamples.location {
                $0.fix.speed = .infinity
                $0.fix.altitude = .nan
                $0.fix.accuracy = -.infinity
                $0.fix.bearing = 1e300
            })
        let root = try JSONSerialization.jsonObject(with: Data(format.request(rows).body)) as? [String: Any]
        let features = try #require(root?["locations"] as? [[String: Any]])
        #expect(features.count == rows.count)
        for (feature, row) in zip(features, rows) {
            let properties = try #require(feature["properties"] as? [String: Any])
            #expect(properties["device_id"] as? String == format.deviceID)
            let time = try #require(properties["timestamp"] as? String)
            #expect(Timestamp(iso8601: time) == row.fix.time)
            let coordinates = (feature["geometry"] as? [String: Any])?["coordinates"] as? [Double]
            #expect(coordinates == [row.fix.coordinate.longitude, row.fix.coordinate.latitude])
        }
        let last = try #require(features.last?["properties"] as? [String: Any])
        #expect(last["speed"] as? Int == -1 && last["horizontal_accuracy"] as? Int == -1)
        #expect(last["altitude"] == nil)
    }
}
