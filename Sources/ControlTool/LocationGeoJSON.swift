internal import ControlProtocol

/// Locations as GeoJSON (RFC 7946): one Point feature each, whose third coordinate is the height above the ellipsoid,
/// as the RFC specifies.
struct LocationGeoJSON {
    private var isFirst = true

    func head() -> [String] { ["{\"type\":\"FeatureCollection\",\"features\":["] }

    mutating func lines(_ page: [Wire.Location]) throws -> [String] {
        try page.map { location in
            defer { isFirst = false }
            return (isFirst ? "" : ",") + (try JSONLine.encode(Feature(location)))
        }
    }

    func tail() -> [String] { ["]}"] }
}

private struct Feature: Encodable {
    let type = "Feature"
    let id: String
    let geometry: Point
    let properties: Properties

    init(_ location: Wire.Location) {
        id = location.id
        geometry = Point(
            coordinates: [location.longitude, location.latitude] + (location.altitude.map { [$0] } ?? []))
        properties = Properties(location: location)
    }
}

private struct Point: Encodable {
    let type = "Point"
    let coordinates: [Double]
}

/// Everything about a location except its id and position. Absent values are omitted.
private struct Properties: Encodable {
    let location: Wire.Location

    private enum Names: String, CodingKey {
        case timestamp, trigger, motion, accuracy, speed, bearing, activity, quality, ignition
        case session = "session_id"
        case isMock = "is_mock"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Names.self)
        try container.encodeIfPresent(location.sessionId, forKey: .session)
        try container.encode(location.timestamp, forKey: .timestamp)
        try container.encode(location.trigger, forKey: .trigger)
        try container.encode(location.motion, forKey: .motion)
        try container.encode(location.isMock, forKey: .isMock)
        try container.encodeIfPresent(location.accuracy, forKey: .accuracy)
        try container.encodeIfPresent(location.speed, forKey: .speed)
        try container.encodeIfPresent(location.bearing, forKey: .bearing)
        try container.encodeIfPresent(location.activity, forKey: .activity)
        try container.encodeIfPresent(location.quality, forKey: .quality)
        try container.encodeIfPresent(location.ignition, forKey: .ignition)
    }
}
