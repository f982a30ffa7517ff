internal import ControlProtocol

/// Locations as KML 2.2: a placemark per session, with a track per page. A track lists all times before all
/// positions, so one for a whole session would exceed the memory of a small machine. `interpolate` joins the line
/// from track to track.
struct LocationKML {
    private var session: String??

    private static let fields = [
        ("speed", "Speed (m/s)"), ("bearing", "Bearing (degrees)"), ("accuracy", "Accuracy (m)"),
    ]

    func head() -> [String] {
        let fields = Self.fields.map { name, label in
            "<gx:SimpleArrayField name=\"\(name)\" type=\"float\"><displayName>\(label)</displayName>"
                + "</gx:SimpleArrayField>"
        }
        return [
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
            "<kml xmlns=\"http://www.opengis.net/kml/2.2\" xmlns:gx=\"http://www.google.com/kml/ext/2.2\">",
            "<Document><name>beekond</name>",
            "<description>The altitude is the height above the WGS-84 ellipsoid, not above the sea, so tracks are drawn "
                + "on the ground.</description>",
            "<Style id=\"track\"><LineStyle><color>ffd8701c</color><width>4</width></LineStyle></Style>",
            "<Schema id=\"fix\">\(fields.joined())</Schema>",
        ]
    }

    mutating func lines(_ page: [Wire.Location]) -> [String] {
        var lines: [String] = []
        var rest = page[...]
        while let first = rest.first {
            if session != .some(first.sessionId) {
                lines += close()
                let name = first.sessionId.map { "<name>\(Markup.escape($0))</name>" } ?? ""
                lines.append(
                    "<Placemark>\(name)<styleUrl>#track</styleUrl><gx:MultiTrack>"
                        + "<altitudeMode>clampToGround</altitudeMode><gx:interpolate>1</gx:interpolate>")
                session = .some(first.sessionId)
            }
            let run = rest.prefix { $0.sessionId == first.sessionId }
            lines += track(run)
            rest = rest[run.endIndex...]
        }
        return lines
    }

    func tail() -> [String] { close() + ["</Document></kml>"] }

    private func close() -> [String] { session == nil ? [] : ["</gx:MultiTrack></Placemark>"] }

    private func track(_ locations: ArraySlice<Wire.Location>) -> [String] {
        var lines = ["<gx:Track>"]
        lines += locations.map { "<when>\(Markup.escape($0.timestamp))</when>" }
        lines += locations.map {
            "<gx:coord>\(Quantity.decimal($0.longitude)) \(Quantity.decimal($0.latitude)) "
                + "\(Quantity.decimal($0.altitude ?? 0))</gx:coord>"
        }
        lines.append("<ExtendedData><SchemaData schemaUrl=\"#fix\">")
        for (name, _) in Self.fields {
            let values = locations.map { location -> String in
                let value =
                    name == "speed"
                    ? location.speed : name == "bearing" ? location.bearing : location.accuracy
                return "<gx:value>\(value.map(Quantity.decimal) ?? "")</gx:value>"
            }
            lines.append("<gx:SimpleArrayData name=\"\(name)\">\(values.joined())</gx:SimpleArrayData>")
        }
        return lines + ["</SchemaData></ExtendedData>", "</gx:Track>"]
    }
}
