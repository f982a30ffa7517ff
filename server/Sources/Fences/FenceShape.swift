internal import FoundationEssentials
package import Tracking

/// Where a fence is, and what of it is reported: the members of an element of `add_geofences` but for its id. A polygon is taken
/// before a circle.
package struct FenceShape: Equatable, Sendable {
    /// Degrees, of a circle's centre.
    package var latitude: Double?
    package var longitude: Double?
    /// Metres.
    package var radius: Double?
    /// Longitude and latitude of each corner, in degrees, in the order of GeoJSON; nil for a circle.
    package var polygon: [[Double]]?
    package var notifiesOnEntry = true
    package var notifiesOnExit = true
    /// Seconds inside after which a stay is reported; nil: none is.
    package var dwell: Double?

    /// The fence as the vehicle reads it.
    ///
    /// - Throws: what is wrong with it, in the words of the vehicle, which would refuse it.
    package func geofence(_ name: String) throws(Geofence.Invalid) -> Geofence {
        if let polygon {
            return try Geofence(
                id: name, ring: polygon, notifiesOnEntry: notifiesOnEntry, notifiesOnExit: notifiesOnExit,
                dwell: dwell)
        }
        guard let latitude, let longitude, let radius else {
            throw Geofence.Invalid(reason: "give latitude, longitude and radius_meters, or a polygon")
        }
        return try Geofence(
            id: name, latitude: latitude, longitude: longitude, radius: radius,
            notifiesOnEntry: notifiesOnEntry, notifiesOnExit: notifiesOnExit, dwell: dwell)
    }

    /// To the centimetre: a polygon of 500 corners then fits into the arguments of one command.
    package var rounded: FenceShape {
        func round(_ value: Double, _ scale: Double) -> Double { (value * scale).rounded() / scale }
        var shape = self
        shape.latitude = latitude.map { round($0, 1e7) }
        shape.longitude = longitude.map { round($0, 1e7) }
        shape.radius = radius.map { round($0, 1e3) }
        shape.polygon = polygon?.map { corner in corner.map { round($0, 1e7) } }
        return shape
    }

    /// Members of a JSON object, without its braces. The same text for the same shape: a vehicle refuses a command that comes again
    /// with other bytes.
    package var members: String {
        var text: String
        if let polygon {
            let corners = polygon.map { "[" + $0.map { "\($0)" }.joined(separator: ",") + "]" }
            text = #""polygon":["# + corners.joined(separator: ",") + "]"
        } else {
            text =
                #""latitude":\#(latitude ?? 0),"longitude":\#(longitude ?? 0),"radius_meters":\#(radius ?? 0)"#
        }
        text += #","notify_on_entry":\#(notifiesOnEntry),"notify_on_exit":\#(notifiesOnExit)"#
        if let dwell { text += #","dwell_seconds":\#(dwell)"# }
        return text
    }
}

extension FenceShape: Decodable {
    private enum CodingKeys: String, CodingKey {
        case latitude, longitude, polygon
        case radius = "radius_meters"
        case notifiesOnEntry = "notify_on_entry"
        case notifiesOnExit = "notify_on_exit"
        case dwell = "dwell_seconds"
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        latitude = try members.decodeIfPresent(Double.self, forKey: .latitude)
        longitude = try members.decodeIfPresent(Double.self, forKey: .longitude)
        radius = try members.decodeIfPresent(Double.self, forKey: .radius)
        polygon = try members.decodeIfPresent([[Double]].self, forKey: .polygon)
        notifiesOnEntry = try members.decodeIfPresent(Bool.self, forKey: .notifiesOnEntry) ?? true
        notifiesOnExit = try members.decodeIfPresent(Bool.self, forKey: .notifiesOnExit) ?? true
        dwell = try members.decodeIfPresent(Double.self, forKey: .dwell)
    }

    /// - Parameter text: as `members` has written it.
    /// - Returns: nil for anything else, as after damage.
    init?(members text: String) {
        guard let shape = try? JSONDecoder().decode(FenceShape.self, from: Data("{\(text)}".utf8)) else {
            return nil
        }
        self = shape
    }
}
