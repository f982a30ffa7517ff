internal import Base
internal import HTTPTypes

/// What of a device's locations is asked for: `?from=…&to=…&limit=…&format=…`.
struct LocationQuery: Equatable {
    enum Format: String, CaseIterable {
        case json, geojson, gpx, csv, packed

        var mediaType: String {
            switch self {
            case .json: "application/json"
            case .geojson: "application/geo+json"
            case .gpx: "application/gpx+xml"
            case .csv: "text/csv; charset=utf-8"
            case .packed: PackedTrack.mediaType
            }
        }

        /// Locations that are worth reading for so many bytes; 0: there is room for none that is packed.
        func rows(of bytes: Int) -> Int {
            let least = max(1, bytes / length + 1)
            // Those that are packed are added all at once, and blocks have heads.
            return min(1000, self == .packed ? max(0, bytes - 4096) / length : least)
        }

        /// Bytes of a short one.
        private var length: Int {
            switch self {
            case .json: 300
            case .geojson: 360
            case .gpx: 100
            case .csv: 180
            case .packed: PackedTrack.length
            }
        }
    }

    var range: ClosedRange<Timestamp>
    /// nil: all of the range.
    var limit: Int?
    var format: Format

    /// - Parameter query: as it stands behind the `?`; nil when there is none.
    init(_ query: Substring?) throws(Problem) {
        var from = Timestamp(milliseconds: 0)
        // The year 9999: what ISO 8601 can say.
        var to = Timestamp(milliseconds: 253_402_300_799_999)
        (limit, format) = (nil, .json)
        for (name, value) in try Self.pairs(query) {
            switch name {
            case "from": from = try Self.time(value, "from")
            case "to": to = try Self.time(value, "to")
            case "limit":
                guard let number = Int(value), (1...1_000_000).contains(number) else {
                    throw Problem(.badRequest, "limit must be a number within 1…1000000.")
                }
                limit = number
            case "format":
                guard let known = Format(rawValue: value) else {
                    throw Problem(.badRequest, "format must be json, geojson, gpx, csv or packed.")
                }
                format = known
            default:
                throw Problem(
                    .badRequest, "There is no such parameter; use from, to, limit and format.")
            }
        }
        guard from <= to else { throw Problem(.badRequest, "from is after to.") }
        range = from...to
    }

    /// The parameters of a query, the first 20 of them.
    static func pairs(_ query: Substring?) throws(Problem) -> [(name: Substring, value: String)] {
        var pairs: [(Substring, String)] = []
        for pair in (query ?? "").split(separator: "&").prefix(20) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let value = Fields.decoded(parts[1]) else {
                throw Problem(.badRequest, "The query is not of the form name=value&….")
            }
            pairs.append((parts[0], value))
        }
        return pairs
    }

    /// - Parameter name: of the parameter, for the complaint.
    static func time(_ text: String, _ name: String) throws(Problem) -> Timestamp {
        // An unescaped + of a time zone reads as a space.
        let zoned = text.count > 20 ? text.replacing(" ", with: "+") : text
        guard let time = Timestamp(iso8601: text) ?? Timestamp(iso8601: zoned) else {
            throw Problem(.badRequest, "\(name) is not a time such as 2026-06-15T12:34:56Z.")
        }
        return time
    }
}
