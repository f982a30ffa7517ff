package import ControlProtocol

/// Locations as lines of text.
package enum LocationText {
    /// A table of locations: 78 columns and the trigger, or fewer of them where the terminal is narrow.
    ///
    /// - Parameter width: of the terminal; nil: all columns.
    static func table(zone: Zone, units: Units, width: Int?) -> Table {
        let isNarrow = width.map { $0 < 60 } ?? false
        return Table(
            [
                .init(title: isNarrow ? "TIME" : "TIME (\(zone.name))", width: isNarrow ? 8 : 19, worth: 9),
                .init(title: "LATITUDE", width: 10, isRight: true, worth: 9),
                .init(title: "LONGITUDE", width: 11, isRight: true, worth: 9),
                .init(title: "ACC \(units.short.name)", width: 6, isRight: true, worth: 4),
                .init(title: units.speedName, width: 6, isRight: true, worth: 5),
                .init(title: "DIR", width: 4, isRight: true, worth: 2),
                .init(title: "ALT \(units.short.name)", width: 7, isRight: true, worth: 1),
                .init(title: "TRIGGER", width: 10, worth: 3),
            ], width: width.map { max($0, 31) })
    }

    package static func header(zone: Zone, units: Units = .metric, width: Int? = nil) -> String {
        table(zone: zone, units: units, width: width).header
    }

    package static func row(
        _ location: Wire.Location, clock: LocalClock, units: Units = .metric, width: Int? = nil
    ) -> String {
        func number(_ value: Double?, _ decimals: Int, _ width: Int = 6) -> String {
            value.map { Quantity.fitting($0, decimals, width) } ?? "-"
        }
        let time = clock.local(location.timestamp)
        return table(zone: clock.zone, units: units, width: width).row([
            width.map { $0 < 60 } ?? false ? String(time.suffix(8)) : time, number(location.latitude, 6, 10),
            number(location.longitude, 6, 11), number(location.accuracy.map(units.short.count), 1),
            number(location.speed.map(units.speed), 1), location.bearing.map(direction) ?? "-",
            number(location.altitude.map(units.short.count), 1, 7),
            Text.cut(Text.safe(location.trigger), to: 10),
        ])
    }

    /// Time and position in one line.
    package static func line(
        _ location: Wire.Location, clock: LocalClock, units: Units = .metric
    ) -> String {
        let marks = [location.activity, location.quality].compactMap { $0.map { ", " + Text.safe($0) } }
        return clock.local(location.timestamp) + "  " + phrase(location, units: units) + marks.joined()
    }

    /// Position and movement in one phrase: `37.774900, -122.419400 ±5 m, 9.0 km/h, 180°, moving`.
    package static func phrase(
        _ location: Wire.Location, decimals: Int = 6, units: Units = .metric
    ) -> String {
        let place = [location.latitude, location.longitude].map { Quantity.fitting($0, decimals, 11) }
        var text = place.joined(separator: ", ")
        if let accuracy = location.accuracy { text += " " + units.accuracy(accuracy) }
        if let speed = location.speed { text += ", " + units.speedText(speed) }
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
}

/// Locations as comma-separated values (RFC 4180, but with line feeds): UTC times, and numbers that read back
/// exactly.
package enum LocationCSV {
    package static let header =
        "id,session_id,timestamp,trigger,motion,is_mock,latitude,longitude,accuracy,speed,bearing,altitude,"
        + "activity,quality,ignition"

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
            + [
                location.activity ?? "", location.quality ?? "",
                location.ignition.map { $0 ? "true" : "false" } ?? "",
            ]
        return fields.map(field).joined(separator: ",")
    }

    /// Quoted if necessary.
    static func field(_ text: String) -> String {
        guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
        return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
            + "\""
    }
}
