package import ControlProtocol

/// Geofences from a file: GeoJSON points with a radius, or a JSON list as printed by `geofence list --json`.
package enum GeofenceFile {
    /// Maximum size of a file in bytes: what one AddGeofences call accepts.
    package static let limit = Limits.largeRequest

    /// Parses the contents of a file.
    ///
    /// - Throws: a `Failure` that names the entry and says what is wrong with it.
    package static func read(_ bytes: [UInt8], name: String) throws -> [Wire.Geofence] {
        guard let root = JSONValue(json: bytes) else {
            throw Failure("\(name) is not JSON: give GeoJSON or a JSON list of geofences", exitCode: 65)
        }
        let entries = try entries(of: root, name: name)
        return try entries.enumerated().map { index, entry in
            let place = "\(name), geofence \(index + 1)"
            guard case .object(let members) = entry else { throw wrong(place, "is not an object") }
            return members["type"] == .string("Feature")
                ? try feature(members, place) : try plain(members, place)
        }
    }

    private static func entries(of root: JSONValue, name: String) throws -> [JSONValue] {
        switch root {
        case .array(let entries): return entries
        case .object(let members):
            if case .array(let features)? = members["features"] { return features }
            if case .array(let fences)? = members["geofences"] { return fences }
            if members["type"] == .string("Feature") || members["radius_meters"] != nil { return [root] }
            fallthrough
        default:
            throw Failure(
                "\(name) holds neither a GeoJSON FeatureCollection nor a list of geofences", exitCode: 65)
        }
    }

    private static func wrong(_ place: String, _ what: String) -> Failure {
        Failure("\(place): \(what); nothing was added", exitCode: 65)
    }

    /// A GeoJSON feature: a Point, with everything else in its properties.
    private static func feature(_ members: [String: JSONValue], _ place: String) throws -> Wire.Geofence {
        guard case .object(let geometry)? = members["geometry"] else { throw wrong(place, "has no geometry") }
        let kind = geometry["type"]?.stringValue ?? "none"
        guard kind == "Point" else {
            throw wrong(
                place, "geofences are circles, a \(kind) cannot be one: give a Point with the property radius"
            )
        }
        guard case .array(let position)? = geometry["coordinates"], position.count >= 2,
            let longitude = position[0].doubleValue, let latitude = position[1].doubleValue
        else { throw wrong(place, "coordinates must be [longitude, latitude]") }
        var properties: [String: JSONValue] = [:]
        if case .object(let found)? = members["properties"] { properties = found }
        let name = properties["id"] ?? members["id"] ?? properties["name"]
        return try fence(id: name, latitude, longitude, properties, place)
    }

    private static func plain(_ members: [String: JSONValue], _ place: String) throws -> Wire.Geofence {
        let known: Set<String> = [
            "id", "latitude", "longitude", "radius_meters", "radius", "notify_on_entry", "notify_on_exit",
            "inside",
        ]
        if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw wrong(place, "\(unknown) is not a property of a geofence")
        }
        guard let latitude = members["latitude"]?.doubleValue,
            let longitude = members["longitude"]?.doubleValue
        else { throw wrong(place, "latitude and longitude must be numbers") }
        return try fence(id: members["id"], latitude, longitude, members, place)
    }

    private static func fence(
        id: JSONValue?, _ latitude: Double, _ longitude: Double, _ members: [String: JSONValue],
        _ place: String
    ) throws -> Wire.Geofence {
        let id = id?.stringValue ?? id?.integerValue.map { String($0) }
        guard let id else { throw wrong(place, "has no id") }
        guard let radius = (members["radius_meters"] ?? members["radius"])?.doubleValue else {
            throw wrong(place, "\(id) has no radius (in metres)")
        }
        return Wire.Geofence(
            id: id, latitude: latitude, longitude: longitude, radiusMeters: radius,
            notifyOnEntry: try flag("notify_on_entry", members, place),
            notifyOnExit: try flag("notify_on_exit", members, place))
    }

    private static func flag(
        _ name: String, _ members: [String: JSONValue], _ place: String
    ) throws -> Bool? {
        switch members[name] {
        case nil, .null?: return nil
        case .bool(let value)?: return value
        default: throw wrong(place, "\(name) must be true or false")
        }
    }
}
