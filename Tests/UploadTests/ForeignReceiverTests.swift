import Base
import DaemonConfiguration
import Envelope
import Foundation
import Testing
import Tracking

@testable import Upload

@Suite("what foreign servers understand") struct ForeignReceiverTests {
    /// Half an hour, once a second: town and motorway, stops, two tunnels, times without speed, altitude or accuracy.
    private static let drive: [Location] = {
        var place = (latitude: 52.5, longitude: 13.4)
        return (0..<1800).compactMap { second in
            let speed = speed(at: Double(second))
            let bearing = Double(second) / 5
            place.latitude += speed * cos(bearing * .pi / 180) / 111_195
            place.longitude += speed * sin(bearing * .pi / 180) / 67_700
            guard !(300..<420).contains(second), !(1000..<1100).contains(second) else { return nil }
            return FormatSamples.location {
                $0.fix.time = Timestamp(milliseconds: 1_781_526_850_000 + Int64(second) * 1000)
                $0.fix.coordinate = FormatSamples.place(place.latitude, place.longitude)
                $0.fix.speed = (700..<730).contains(second) ? nil : (speed * 1000).rounded() / 1000
                $0.fix.bearing = bearing.truncatingRemainder(dividingBy: 360)
                $0.fix.altitude = second % 7 == 0 ? nil : 34.5
                $0.fix.accuracy = second % 11 == 0 ? nil : 2.5
            }
        }
    }()

    /// Metres per second: 0…38.
    private static func speed(at second: Double) -> Double {
        max(0, 14 + 12 * sin(second / 97) + 14 * sin(second / 231) - 2 * cos(second / 13))
    }

    /// Metres driven while positions came every second and had speeds, by the true speeds.
    private static let truth: Double = pairs(drive.map { ($0.fix.time, $0.fix.speed) }).reduce(0) {
        sum, pair in
        let start = Double((pair.from.time.milliseconds - 1_781_526_850_000) / 1000)
        return sum
            + stride(from: start, to: start + 1, by: 0.01).reduce(0) { $0 + speed(at: $1 + 0.005) * 0.01 }
    }

    private typealias Point = (time: Timestamp, speed: Double?)

    private static func pairs(_ points: [Point]) -> [(from: Point, to: Point)] {
        zip(points, points.dropFirst()).compactMap { from, to in
            from.speed != nil && to.speed != nil && to.time.seconds(since: from.time) <= 3 ? (from, to) : nil
        }
    }

    /// Metres, by the speeds a server was told, in the unit it takes them for.
    private static func driven(_ read: [Understood]) -> Double {
        pairs(read.map { ($0.time, $0.speed) }).reduce(0) { sum, pair in
            sum + ((pair.from.speed ?? 0) + (pair.to.speed ?? 0)) / 2
                * pair.to.time.seconds(since: pair.from.time)
        }
    }

    private static func requests(_ receiver: ForeignReceiver, _ rows: [Location]) -> [Request] {
        switch receiver {
        case .traccar, .phoneTrackTraccar, .homeAssistant:
            rows.map { OsmAndFormat(.init(deviceID: "truck-12")).request($0, extras: #"{"driver":"a+b&é"}"#) }
        case .phoneTrackLogger:
            rows.map { OsmAndFormat(.init(deviceID: "truck-12", speedUnit: .mps)).request($0, extras: nil) }
        case .traccarOwnTracks, .dawarichOwnTracks, .homeAssistantOwnTracks, .recorder:
            rows.map { OwnTracksFormat(user: "fleet", deviceID: "truck-12").request($0, sentAt: $0.fix.time) }
        case .dawarichOverland, .phoneTrackOverland:
            stride(from: 0, to: rows.count, by: 100).map {
                OverlandFormat(deviceID: "truck-12").request(Array(rows[$0..<min($0 + 100, rows.count)]))
            }
        }
    }

    @Test(
        "the distance driven, from the speeds it was told",
        arguments: ForeignReceiver.allCases.filter { $0 != .homeAssistant })
    func distance(receiver: ForeignReceiver) throws {
        let read = try Self.requests(receiver, Self.drive).flatMap { try #require(receiver.read($0)) }
        #expect(read.count == Self.drive.count)
        #expect(Self.truth > 15_000)
        let error = abs(Self.driven(read) / Self.truth - 1)
        // Whole kilometres an hour; else only the rule by which the speeds are summed.
        #expect(error < (receiver.rawValue.contains("OwnTracks") || receiver == .recorder ? 0.002 : 0.000_1))
    }

    @Test("the same at a backend of one's own, in metres a second")
    func ownBackend() throws {
        let device = Device(installID: "", platform: "linux", version: "0", model: nil)
        var payload = BeekonPayload(device: device)
        let body = payload.encode(
            batch: FormatSamples.id, session: FormatSamples.session, sentAt: FormatSamples.sentAt,
            extras: nil, locations: Self.drive, events: [])
        let root = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        let rows = try #require(root?["locations"] as? [[String: Any]])
        let points: [Point] = try rows.map { row in
            let time = try #require((row["timestamp"] as? String).flatMap { Timestamp(iso8601: $0) })
            return (time, row["speed"] as? Double)
        }
        #expect(points.count == Self.drive.count)
        let driven = Self.pairs(points).reduce(0) { sum, pair in
            sum + ((pair.from.speed ?? 0) + (pair.to.speed ?? 0)) / 2
                * pair.to.time.seconds(since: pair.from.time)
        }
        #expect(abs(driven / Self.truth - 1) < 0.000_1)
    }

    @Test("where and when, to the second, wherever and whenever that is", arguments: ForeignReceiver.allCases)
    func places(receiver: ForeignReceiver) throws {
        let rows = Self.drive + FormatSamples.extremes
        let read = try Self.requests(receiver, rows).flatMap { try #require(receiver.read($0)) }
        for (row, read) in zip(rows, read) {
            // JSONSerialization does not read exactly.
            #expect(abs(read.latitude - row.fix.coordinate.latitude) < 1e-12)
            #expect(abs(read.longitude - row.fix.coordinate.longitude) < 1e-12)
            let names = ["truck-12", "truck12", "owntracks/fleet/truck-12"]
            #expect(names.contains(read.device))
            // It reads a time, and ignores it.
            guard receiver != .homeAssistant else { continue }
            #expect((0..<1).contains(row.fix.time.seconds(since: read.time)), "\(row.fix.time)")
        }
        #expect(read.count == rows.count)
    }

    @Test("a geofence event, where the format carries it", arguments: ForeignReceiver.allCases)
    func events(receiver: ForeignReceiver) throws {
        let request = OwnTracksFormat(user: "fleet", deviceID: "truck-12").request(
            FormatSamples.event(fence: "a \"quoted\" 😀 dock"))
        let read = receiver.read(try #require(request))
        switch receiver {
        case .dawarichOwnTracks, .homeAssistantOwnTracks, .recorder:
            #expect(read?.first?.device == "truck-12")
            #expect(read?.first?.latitude == 37.7749)
        case .traccar, .phoneTrackTraccar, .phoneTrackLogger, .homeAssistant, .traccarOwnTracks,
            .dawarichOverland,
            .phoneTrackOverland:
            #expect(read == nil)
        }
    }
}
