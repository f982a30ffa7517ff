package import ControlProtocol

/// Geofences from a file: GeoJSON points with a radius and polygons, or a JSON list as printed by `geofence list --json`.
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

    /// A GeoJSON feature: a Point or a Polygon, with everything else in its properties.
    private static func feature(_ members: [String: JSONValue], _ place: String) throws -> Wire.Geofence {
        guard case .object(let geometry)? = members["geometry"] else { throw wrong(place, "has no geometry") }
        let kind = geometry["type"]?.stringValue ?? "none"
        var properties: [String: JSONValue] = [:]
        if case .object(let found)? = members["properties"] { properties = found }
        let name = properties["id"] ?? members["id"] ?? properties["name"]
        switch kind {
        case "Point":
            guard let position = position(geometry["coordinates"]) else {
                throw wrong(place, "coordinates must be [longitude, latitude]")
            }
            return try circle(id: name, position[1], position[0], properties, place)
        case "Polygon": return try polygon(id: name, geometry["coordinates"], properties, place)
        default:
            throw wrong(
                place, "a \(kind) cannot be a geofence: give a Polygon, or a Point with the property radius")
        }
    }

    /// Longitude and latitude; a height is left out.
    private static func position(_ value: JSONValue?) -> [Double]? {
        guard case .array(let position)? = value, position.count >= 2,
            let longitude = position[0].doubleValue, let latitude = position[1].doubleValue
        else { return nil }
        return [longitude, latitude]
    }

    /// - Parameter coordinates: the rings of a GeoJSON polygon.
    private static func polygon(
        id: JSONValue?, _ coordinates: JSONValue?, _ members: [String: JSONValue], _ place: String
    ) throws -> Wire.Geofence {
        guard case .array(let rings)? = coordinates, case .array(let outer)? = rings.first else {
            throw wrong(place, "coordinates of a Polygon must be a list of rings")
        }
        guard rings.count == 1 else { throw wrong(place, "a geofence cannot have holes") }
        return try polygon(id: id, corners: outer, members, place)
    }

    private static func polygon(
        id: JSONValue?, corners: [JSONValue], _ members: [String: JSONValue], _ place: String
    ) throws -> Wire.Geofence {
        let ring = try corners.enumerated().map { index, corner in
            guard let position = position(corner) else {
                throw wrong(place, "corner \(index + 1) must be [longitude, latitude]")
            }
            return position
        }
        return Wire.Geofence(
            id: try self.id(id, place), polygon: ring,
            notifyOnEntry: try flag("notify_on_entry", members, place),
            notifyOnExit: try flag("notify_on_exit", members, place),
            dwellSeconds: try seconds("dwell_seconds", members, place))
    }

    private static func plain(_ members: [String: JSONValue], _ place: String) throws -> Wire.Geofence {
        let known: Set<String> = [
            "id", "latitude", "longitude", "radius_meters", "radius", "polygon", "notify_on_entry",
            "notify_on_exit", "dwell_seconds", "inside",
        ]
        if let unknown = members.keys.sorted().first(where: { !known.contains($0) }) {
            throw wrong(place, "\(unknown) is not a property of a geofence")
        }
        if case .array(let corners)? = members["polygon"] {
            return try polygon(id: members["id"], corners: corners, members, place)
        }
        guard let latitude = members["latitude"]?.doubleValue,
            let longitude = members["longitude"]?.doubleValue
        else { throw wrong(place, "latitude and longitude must be numbers") }
        return try circle(id: members["id"], latitude, longitude, members, place)
    }

    private static func circle(
        id: JSONValue?, _ latitude: Double, _ longitude: Double, _ members: [String: JSONValue],
        _ place: String
    ) throws -> Wire.Geofence {
        let id = try self.id(id, place)
        guard let radius = (members["radius_meters"] ?? members["radius"])?.doubleValue else {
            throw wrong(place, "\(id) has no radius (in metres)")
        }
        return Wire.Geofence(
            id: id, latitude: latitude, longitude: longitude, radiusMeters: radius,
            notifyOnEntry: try flag("notify_on_entry", members, place),
            notifyOnExit: try flag("notify_on_exit", members, place),
            dwellSeconds: try seconds("dwell_seconds", members, place))
    }

    private static func id(_ value: JSONValue?, _ place: String) throws -> String {
        let id = value?.stringValue ?? value?.integerValue.map { String($0) }
        guard let id else { throw wrong(place, "has no id") }
        return id
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

    private static func seconds(
        _ name: String, _ members: [String: JSONValue], _ place: String
    ) throws -> Double? {
        switch members[name] {
        case nil, .null?: return nil
        case let value?:
            guard let seconds = value.doubleValue else { throw wrong(place, "\(name) must be a number") }
            return seconds
        }
    }
}
