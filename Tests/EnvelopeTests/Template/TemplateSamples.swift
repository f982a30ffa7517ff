import Base
import Testing
import Tracking

@testable import Envelope

/// Records and templates that several tests share.
enum TemplateSamples {
    /// A constant that is well formed.
    private static func known<Value>(_ value: Value?) -> Value {
        guard let value else { preconditionFailure("a sample is wrong") }
        return value
    }

    static let session = known(UUIDv7("0190d4e0-1234-7000-8000-aabbccddeeff"))
    static let time = known(Timestamp(iso8601: "2026-06-15T12:34:10.000Z"))

    static func location(_ change: (inout Location) -> Void = { _ in }) -> Location {
        var location = Location(
            id: known(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e20")), session: session,
            fix: Fix(
                time: time, mode: 3, coordinate: known(Coordinate(latitude: 37.7749, longitude: -122.4194)),
                accuracy: 5.2, speed: 2.5, bearing: 180, altitude: 14.3),
            trigger: .motion, motion: .moving, activity: .automotive)
        change(&location)
        return location
    }

    /// Nothing is known but what every fix has.
    static var bare: Location {
        location {
            $0.fix.accuracy = nil
            $0.fix.speed = nil
            $0.fix.bearing = nil
            $0.fix.altitude = nil
            $0.trigger = .interval
            $0.motion = .unknown
            $0.activity = nil
        }
    }

    static func event(_ fence: String = "home", at seconds: Double = -5) -> GeofenceEvent {
        GeofenceEvent(
            id: known(UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e21")), session: session,
            crossing: Crossing(geofence: fence, kind: .exit, time: time.advanced(bySeconds: seconds)),
            coordinate: location().fix.coordinate, accuracy: 4)
    }

    static func shape(
        _ location: String = "{\"lat\": <%= latitude %>}",
        geofence: String = "{\"fence\": \"<%= geofence.identifier %>\"}",
        rootProperty: String = "location", params: [String: BodyFields.Value] = [:],
        extras: TemplateShape.ExtrasPlace = .record, batchSize: Int = 100
    ) throws -> TemplateShape {
        try TemplateShape(
            rootProperty: rootProperty, params: BodyFields(params), extras: extras, batchSize: batchSize,
            location: Template(location, for: .location), geofence: Template(geofence, for: .geofence))
    }

    /// nil when no body can be made of them.
    static func bytes(
        _ shape: TemplateShape, _ records: [TemplateRecord], extras: String? = nil,
        deviceID: String = "truck-12",
        installID: String = "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff"
    ) -> [UInt8]? {
        var payload = TemplatePayload(shape: shape, deviceID: deviceID, installID: installID)
        return payload.encode(session: session, extras: extras, records: records)
    }

    static func body(
        _ shape: TemplateShape, _ records: [TemplateRecord], extras: String? = nil,
        deviceID: String = "truck-12",
        installID: String = "0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff"
    ) throws -> String {
        let bytes = bytes(shape, records, extras: extras, deviceID: deviceID, installID: installID)
        return String(decoding: try #require(bytes), as: UTF8.self)
    }
}
