import Base
import Testing
import Tracking

@testable import Upload

/// Rows for the foreign formats.
enum FormatSamples {
    static let id = uuid("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")
    static let session = uuid("0190d4e0-1234-7000-8000-aabbccddeeff")
    /// 2026-06-15T12:34:10.250Z.
    static let time = Timestamp(milliseconds: 1_781_526_850_250)
    /// A minute later.
    static let sentAt = Timestamp(milliseconds: 1_781_526_910_999)

    static func uuid(_ text: String) -> UUIDv7 {
        guard let id = UUIDv7(text) else { preconditionFailure("not a UUID") }
        return id
    }

    static func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        guard let place = Coordinate(latitude: latitude, longitude: longitude) else {
            preconditionFailure("not on the Earth")
        }
        return place
    }

    /// Everything is known of it, unless changed.
    static func location(_ change: (inout Location) -> Void = { _ in }) -> Location {
        var location = Location(
            id: id, session: session,
            fix: Fix(
                time: time, mode: 3, coordinate: place(37.7749, -122.4194), accuracy: 5.2, speed: 2.5,
                bearing: 180.5, altitude: 14.3),
            trigger: .interval, motion: .moving, activity: .automotive)
        change(&location)
        return location
    }

    /// Nothing is known but where and when.
    static var bare: Location {
        location {
            $0.fix.accuracy = nil
            $0.fix.speed = nil
            $0.fix.bearing = nil
            $0.fix.altitude = nil
            $0.motion = .unknown
            $0.activity = nil
        }
    }

    static func event(_ kind: Crossing.Kind = .exit, fence: String = "home") -> GeofenceEvent {
        GeofenceEvent(
            id: id, session: session, crossing: Crossing(geofence: fence, kind: kind, time: time),
            coordinate: place(37.7749, -122.4194), accuracy: 4.1,
            fenceAddedAt: Timestamp(milliseconds: 1_781_000_000_900))
    }

    /// Places and moments at the ends of what there is.
    static let extremes: [Location] = {
        let places = [
            place(90, 0), place(-90, 180), place(0, -180), place(-0.0, 1e-7), place(51.5, 179.999999999),
        ]
        let times: [Int64] = [
            0, -1, 315_532_800_000, 946_684_799_999, 2_147_483_646_999, 2_147_483_647_000, 4_102_444_800_123,
        ]
        return places.flatMap { place in
            times.map { milliseconds in
                location {
                    $0.fix.coordinate = place
                    $0.fix.time = Timestamp(milliseconds: milliseconds)
                    $0.fix.altitude = -430.5
                }
            }
        }
    }()
}

/// An answer of a server.
func answer(_ status: Int, _ body: String = "", _ head: [String] = [], isCut: Bool = false) -> Answer {
    var (answerHead, start) = (AnswerHead(), AnswerBody())
    for line in head { Array((line + "\r\n").utf8).withUnsafeBytes { _ = answerHead.read($0) } }
    start.append(body.utf8)
    return Answer(status: status, answerHead, start, isCut: isCut, text: Array(body.utf8))
}
