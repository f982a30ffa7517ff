internal import Base
internal import Envelope
internal import EnvelopeReader
internal import ServerStore

/// Locations as text, piece by piece, so that a year of them is never in memory at once.
struct LocationText {
    let format: LocationQuery.Format
    let device: DeviceState
    /// Time of the last location; nil: there was none yet.
    var last: Timestamp?
    /// Seconds without a location after which GPX has another segment, since the receiver was off; as the page draws it.
    private static let gap = 600.0

    init(_ format: LocationQuery.Format, of device: DeviceState) {
        self.format = format
        self.device = device
    }

    /// What stands before the first location.
    var head: [UInt8] {
        var text: [UInt8] = []
        switch format {
        case .json:
            text += Array(#"{"device":\#(device.id),"name":"#.utf8)
            JSONString.append(device.name, to: &text)
            text += Array(#","locations":["#.utf8)
        case .geojson: text += Array(#"{"type":"FeatureCollection","features":["#.utf8)
        case .gpx:
            text += Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <gpx version="1.1" creator="beekon-server" xmlns="http://www.topografix.com/GPX/1/1">
                <trk><name>\(Self.escaped(device.name))</name><trkseg>

                """.utf8)
        case .csv:
            text += Array(
                ("time,latitude,longitude,accuracy,speed,bearing,altitude,trigger,motion,activity,quality,is_mock,id,"
                    + "session_id\r\n").utf8)
        case .packed: break
        }
        return text
    }

    /// Whether extras stand in it.
    var showsExtras: Bool { format == .json || format == .geojson }

    /// Adds the next of them; none is packed by itself.
    ///
    /// - Parameter extras: a JSON object; nil when it has none.
    func append(_ location: StoredLocation, extras: String?, to text: inout [UInt8]) {
        switch format {
        case .json: object(location, extras, to: &text)
        case .geojson: feature(location, extras, to: &text)
        case .gpx: point(location.row, to: &text)
        case .csv: line(location, to: &text)
        case .packed: PackedTrack.append([location.row], to: &text)
        }
    }

    /// What stands behind the last.
    var tail: [UInt8] {
        switch format {
        case .json, .geojson: Array("]}\n".utf8)
        case .gpx: Array("</trkseg></trk></gpx>\n".utf8)
        case .csv, .packed: []
        }
    }

    private func object(_ location: StoredLocation, _ extras: String?, to text: inout [UInt8]) {
        text += (last != nil ? ",\n{" : "\n{").utf8
        Self.members(location.row, to: &text)
        text.member("latitude", number: location.row.latitude)
        text.member("longitude", number: location.row.longitude)
        Self.session(location, extras, to: &text)
        text.append(UInt8(ascii: "}"))
    }

    private func feature(_ location: StoredLocation, _ extras: String?, to text: inout [UInt8]) {
        let row = location.row
        let height = row.altitude.map { ",\(Self.number($0))" } ?? ""
        let place = "\(Self.number(row.longitude)),\(Self.number(row.latitude))\(height)"
        text += (last != nil ? ",\n" : "\n").utf8
        text +=
            #"{"type":"Feature","geometry":{"type":"Point","coordinates":[\#(place)]},"properties":{"#.utf8
        Self.members(row, to: &text)
        Self.session(location, extras, to: &text)
        text += "}}".utf8
    }

    private static func session(_ location: StoredLocation, _ extras: String?, to text: inout [UInt8]) {
        text += #","session_id":""#.utf8
        location.session.append(to: &text)
        text.append(UInt8(ascii: "\""))
        if let extras { text.member("extras", json: extras.utf8) }
    }

    /// What a location is but where, in the words of the envelope.
    static func members(_ row: LocationRow, to text: inout [UInt8]) {
        text += #""id":""#.utf8
        row.id.append(to: &text)
        text += #"","timestamp":""#.utf8
        row.time.appendISO8601(to: &text)
        text.append(UInt8(ascii: "\""))
        text.member("trigger", string: row.codes.trigger)
        text.member("motion", string: row.codes.motion)
        text.member("activity", string: row.codes.activity)
        text.member("quality", string: row.codes.quality)
        text.member("is_mock", bool: row.codes.isMock)
        text.member("accuracy", number: row.accuracy)
        text.member("speed", number: row.speed)
        text.member("bearing", number: row.bearing)
        text.member("altitude", number: row.altitude)
    }

    private func point(_ row: LocationRow, to text: inout [UInt8]) {
        if let last, row.time.seconds(since: last) > Self.gap { text += "</trkseg><trkseg>\n".utf8 }
        text += #"<trkpt lat="\#(Self.decimal(row.latitude))" lon="\#(Self.decimal(row.longitude))">"#.utf8
        if let altitude = row.altitude { text += "<ele>\(Self.decimal(altitude))</ele>".utf8 }
        text += "<time>\(row.time.iso8601)</time></trkpt>\n".utf8
    }

    private func line(_ location: StoredLocation, to text: inout [UInt8]) {
        let row = location.row
        let numbers = [row.latitude, row.longitude, row.accuracy, row.speed, row.bearing, row.altitude]
        let words = [row.codes.trigger, row.codes.motion, row.codes.activity, row.codes.quality]
        let cells =
            [row.time.iso8601] + numbers.map { $0.map(Self.number) ?? "" } + words.map { $0 ?? "" }
            + [String(row.codes.isMock), row.id.description, location.session.description]
        text += (cells.joined(separator: ",") + "\r\n").utf8
    }

    /// The shortest text that reads back as the same Double; an integral one without a point.
    static func number(_ value: Double) -> String {
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// The text of a number without an exponent, as XML Schema's decimals are; degrees and metres that nobody
    /// can measure are 0.
    static func decimal(_ value: Double) -> String {
        let text = number(value)
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "e")),
            let exponent = Int(text[text.index(after: mark)...])
        else { return text }
        guard abs(value) >= 1e-12 else { return "0" }
        let sign = value < 0 ? "-" : ""
        let digits = text[..<mark].filter { $0.isNumber }
        // One of them stands before the point.
        guard exponent >= 0 else {
            return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits
        }
        return sign + digits + String(repeating: "0", count: max(0, exponent + 1 - digits.count))
    }

    /// For XML 1.0, which has no place for some characters, not even escaped. A name of before such were refused may have them.
    private static func escaped(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> UnicodeScalar in
            switch scalar.value {
            case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: scalar
            default: "\u{FFFD}"
            }
        }
        return String(String.UnicodeScalarView(scalars)).replacing("&", with: "&amp;").replacing(
            "<", with: "&lt;"
        ).replacing(">", with: "&gt;")
    }
}
