internal import Base
package import ControlProtocol

/// A track as one self-contained HTML file: `track.html` with its style, its script and the data, one row per
/// location.
package struct TrackPage {
    private let template: [String]
    private var origin: Timestamp?
    private var session: String??
    private var sessions = 0
    private var isFirst = true

    package init() {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let (head, styled) = text(PackageResources.track_html).split(at: "{{style}}")
        // The rows come first, then everything that is known only at the end.
        let (middle, rest) = styled.split(at: "{{rows}}")
        let (between, behind) = rest.split(at: "{{facts}}")
        let (last, tail) = behind.split(at: "{{script}}")
        let script = text(PackageResources.track_js) + text(PackageResources.track_charts_js)
        template = [head + text(PackageResources.track_css) + middle, between, last + script + tail]
    }

    package mutating func lines(_ page: [Wire.Location]) -> [String] {
        var lines = isFirst && origin == nil ? [template[0]] : []
        for location in page {
            guard let time = LocalClock.utc(location.timestamp) else { continue }
            if origin == nil { origin = time }
            if session != .some(location.sessionId) { sessions += 1 }
            session = .some(location.sessionId)
            lines.append((isFirst ? "" : ",") + row(location, time))
            isFirst = false
        }
        return lines
    }

    /// Milliseconds since the first location, and other numbers: nothing that would need escaping.
    private func row(_ location: Wire.Location, _ time: Timestamp) -> String {
        let values = [location.speed, location.bearing, location.altitude, location.accuracy]
        let fields =
            [String(time.milliseconds - (origin?.milliseconds ?? 0))]
            + [location.latitude, location.longitude].map(Quantity.exact)
            + values.map { $0.map(Quantity.exact) ?? "null" } + [String(sessions)]
        return "[" + fields.joined(separator: ",") + "]"
    }

    /// The lines after the last location.
    package func end(
        _ summary: TrackSummary, fences: [Wire.Geofence], trips: [Wire.Trip] = [], units: Units = .metric
    ) throws -> [String] {
        let facts = Facts(
            version: Release.version, origin: origin?.milliseconds ?? 0, summary: summary,
            fences: fences, trips: trips,
            units: .init(speed: units.speedName, long: units.long, short: units.short))
        return [template[1] + Self.escapedForScript(try JSONLine.encode(facts)) + template[2]]
    }

    /// Escapes JSON for a script element, which `</script>` or `<!--` in a text must not end or alter.
    static func escapedForScript(_ json: String) -> String {
        var result = ""
        for scalar in json.unicodeScalars {
            switch scalar {
            case "<": result += "\\u003c"
            case "\u{2028}": result += "\\u2028"
            case "\u{2029}": result += "\\u2029"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

private struct Facts: Encodable {
    let version: String
    let origin: Int64
    let summary: TrackSummary
    let fences: [Wire.Geofence]
    let trips: [Wire.Trip]
    let units: Shown

    /// What people read; the data stay in metres and metres per second.
    struct Shown: Encodable {
        /// Name of the long unit per hour.
        let speed: String
        let long: Units.Length
        let short: Units.Length
    }
}

extension String {
    /// The text before and after a mark; everything is before a mark that does not occur.
    fileprivate func split(at mark: String) -> (before: String, after: String) {
        let bytes = Array(utf8)
        let wanted = Array(mark.utf8)
        let start = bytes.indices.dropLast(wanted.count - 1).first {
            bytes[$0..<$0 + wanted.count].elementsEqual(wanted)
        }
        guard let start else { return (self, "") }
        return (
            String(decoding: bytes[..<start], as: UTF8.self),
            String(decoding: bytes[(start + wanted.count)...], as: UTF8.self)
        )
    }
}
