internal import ControlProtocol

/// Locations as GPX 1.1, with a `trk` per session. Values without a GPX element are in extensions: speed and course
/// in Garmin's TrackPointExtension v2, which other programs understand, the rest in one of our own.
struct LocationGPX {
    static let namespace = "http://www.topografix.com/GPX/1/1"
    private static let garmin = "http://www.garmin.com/xmlschemas/TrackPointExtension/v2"
    private static let own = "https://beekond.org/gpx/1"

    private var session: String??

    func head() -> [String] {
        [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<gpx version=\"1.1\" creator=\"beekonctl \(Markup.escape(Release.version))\" xmlns=\"\(Self.namespace)\""
                + " xmlns:gpxtpx=\"\(Self.garmin)\" xmlns:beekond=\"\(Self.own)\">",
            "<metadata><desc>ele is the height above the WGS-84 ellipsoid, not above the sea: they differ by up to "
                + "110 m.</desc></metadata>",
        ]
    }

    mutating func lines(_ page: [Wire.Location]) -> [String] {
        var lines: [String] = []
        for location in page {
            if session != .some(location.sessionId) {
                lines += close()
                let name = location.sessionId.map { "<name>\(Markup.escape($0))</name>" } ?? ""
                lines.append("<trk>\(name)<trkseg>")
                session = .some(location.sessionId)
            }
            lines.append(point(location))
        }
        return lines
    }

    func tail() -> [String] { close() + ["</gpx>"] }

    private func close() -> [String] { session == nil ? [] : ["</trkseg></trk>"] }

    func point(_ location: Wire.Location) -> String {
        // The schema excludes a longitude of 180.
        let longitude = location.longitude == 180 ? -180 : location.longitude
        var text =
            "<trkpt lat=\"\(Quantity.decimal(location.latitude))\" lon=\"\(Quantity.decimal(longitude))\">"
        if let altitude = location.altitude { text += "<ele>\(Quantity.decimal(altitude))</ele>" }
        text += "<time>\(Markup.escape(location.timestamp))</time><extensions>"
        let movement =
            Self.element("gpxtpx:speed", location.speed.map(Quantity.decimal))
            + Self.element("gpxtpx:course", location.bearing.map(Quantity.decimal))
        if !movement.isEmpty {
            text += "<gpxtpx:TrackPointExtension>\(movement)</gpxtpx:TrackPointExtension>"
        }
        text += Self.element("beekond:id", location.id)
        text += Self.element("beekond:accuracy", location.accuracy.map(Quantity.decimal))
        text += Self.element("beekond:trigger", location.trigger)
        text += Self.element("beekond:motion", location.motion)
        text += Self.element("beekond:activity", location.activity)
        text += Self.element("beekond:quality", location.quality)
        text += Self.element("beekond:ignition", location.ignition.map { $0 ? "true" : "false" })
        if location.isMock { text += Self.element("beekond:is_mock", "true") }
        return text + "</extensions></trkpt>"
    }

    private static func element(_ name: String, _ value: String?) -> String {
        value.map { "<\(name)>\(Markup.escape($0))</\(name)>" } ?? ""
    }
}
