public import ControlProtocol

/// Turns pages of locations into lines; what comes before the first location comes with the first page, also an empty
/// one.
public struct HistoryWriter {
    /// What the lines are.
    public enum Format: String, Sendable, CaseIterable {
        /// For people.
        case table
        /// One JSON object a line.
        case jsonl
        /// Comma-separated values with a header.
        case csv
        /// GPX 1.1.
        case gpx
        /// RFC 7946.
        case geojson
        /// KML 2.2.
        case kml
    }

    private let format: Format
    private let clock: Clock
    private var isFirst = true
    private var gpx = LocationGPX()
    private var geojson = LocationGeoJSON()
    private var kml = LocationKML()

    /// Makes a writer for one export.
    public init(format: Format, clock: Clock) {
        self.format = format
        self.clock = clock
    }

    /// The lines of the next page.
    public mutating func lines(_ page: [Wire.Location]) throws -> [String] {
        defer { isFirst = false }
        return (isFirst ? head(isEmpty: page.isEmpty) : []) + (try body(page))
    }

    /// The lines behind the last page.
    public func end() -> [String] {
        switch format {
        case .gpx: gpx.tail()
        case .geojson: geojson.tail()
        case .kml: kml.tail()
        case .table, .jsonl, .csv: []
        }
    }

    private func head(isEmpty: Bool) -> [String] {
        switch format {
        // A header above nothing would only push the explanation up.
        case .table: isEmpty ? [] : [LocationText.header(zone: clock.zone)]
        case .jsonl: []
        case .csv: [LocationCSV.header]
        case .gpx: gpx.head()
        case .geojson: geojson.head()
        case .kml: kml.head()
        }
    }

    private mutating func body(_ page: [Wire.Location]) throws -> [String] {
        switch format {
        case .table: page.map { LocationText.row($0, clock: clock) }
        case .jsonl: try page.map { try JSONText.line($0) }
        case .csv: page.map(LocationCSV.row)
        case .gpx: gpx.lines(page)
        case .geojson: try geojson.lines(page)
        case .kml: kml.lines(page)
        }
    }
}
