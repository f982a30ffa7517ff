package import ControlProtocol

/// Locations as lines of text.
package enum LocationText {
    /// The header of a table of locations; 78 columns.
    package static func header(zone: Zone) -> String {
        row(
            "TIME (\(zone.name))", "LATITUDE", "LONGITUDE", "ACC m", "m/s", "DIR", "ALT m", "TRIGGER")
    }

    package static func row(_ location: Wire.Location, clock: Clock) -> String {
        func number(_ value: Double?, _ decimals: Int, _ width: Int = 6) -> String {
            value.map { Quantity.fitting($0, decimals, width) } ?? "-"
        }
        return row(
            clock.local(location.timestamp), number(location.latitude, 6, 10),
            number(location.longitude, 6, 11), number(location.accuracy, 1), number(location.speed, 1),
            location.bearing.map(direction) ?? "-", number(location.altitude, 1, 7),
            Text.cut(Text.safe(location.trigger), to: 10))
    }

    /// Time and position in one line.
    package static func line(_ location: Wire.Location, clock: Clock) -> String {
        let marks = [location.activity, location.quality].compactMap { $0.map { ", " + Text.safe($0) } }
        return clock.local(location.timestamp) + "  " + phrase(location) + marks.joined()
    }

    private static func row(
        _ time: String, _ latitude: String, _ longitude: String, _ accuracy: String, _ speed: String,
        _ bearing: String, _ altitude: String, _ trigger: String
    ) -> String {
        [
            Text.left(time, 19), Text.right(latitude, 10), Text.right(longitude, 11),
            Text.right(accuracy, 6), Text.right(speed, 6), Text.right(bearing, 4), Text.right(altitude, 7),
            trigger,
        ].joined(separator: " ")
    }

    /// Position and movement in one phrase: `37.774900, -122.419400 ±5 m, 2.5 m/s, 180°, moving`.
    package static func phrase(_ location: Wire.Location, decimals: Int = 6) -> String {
        let place = [location.latitude, location.longitude].map { Quantity.fitting($0, decimals, 11) }
        var text = place.joined(separator: ", ")
        if let accuracy = location.accuracy {
            text += accuracy < 10_000 ? " ±\(Quantity.fixed(accuracy, 0)) m" : " ±\(kilometers(accuracy)) km"
        }
        if let speed = location.speed { text += ", \(Quantity.fitting(speed, 1, 6)) m/s" }
        if let bearing = location.bearing { text += ", \(direction(bearing))°" }
        // A single position may have no motion state.
        if location.trigger == "manual", location.motion == "unknown" { return text }
        return text + ", \(Text.cut(Text.safe(location.motion), to: 14))"
    }

    /// Whole degrees; north is 0, never 360.
    private static func direction(_ bearing: Double) -> String {
        let text = Quantity.fitting(bearing, 0, 6)
        return text == "360" ? "0" : text
    }

    private static func kilometers(_ meters: Double) -> String { Quantity.fitting(meters / 1000, 0, 6) }
}

/// Locations as comma-separated values (RFC 4180, but with line feeds): UTC times, and numbers that read back
/// exactly.
package enum LocationCSV {
    package static let header =
        "id,session_id,timestamp,trigger,motion,is_mock,latitude,longitude,accuracy,speed,bearing,altitude,"
        + "activity,quality"

    /// One line; absent values are empty.
    package static func row(_ location: Wire.Location) -> String {
        let numbers = [
            location.latitude, location.longitude, location.accuracy, location.speed, location.bearing,
            location.altitude,
        ]
        let fields =
            [
                location.id, location.sessionId ?? "", location.timestamp, location.trigger, location.motion,
                location.isMock ? "true" : "false",
            ] + numbers.map { $0.map(Quantity.exact) ?? "" }
            + [location.activity ?? "", location.quality ?? ""]
        return fields.map(field).joined(separator: ",")
    }

    /// Quoted if necessary.
    static func field(_ text: String) -> String {
        guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
        return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
            + "\""
    }
}
