package import ControlProtocol

/// Formats pages of locations. What precedes the first location is output with the first page, even if that is empty.
package struct HistoryWriter {
    package enum Format: String, Sendable, CaseIterable {
        /// For people.
        case table
        /// One JSON object per line.
        case jsonl
        /// Comma-separated values with a header.
        case csv
        /// GPX 1.1.
        case gpx
        /// GeoJSON (RFC 7946).
        case geojson
        /// KML 2.2.
        case kml
    }

    private let format: Format
    private let clock: LocalClock
    private let units: Units
    private let width: Int?
    private var isFirst = true
    private var gpx = LocationGPX()
    private var geojson = LocationGeoJSON()
    private var kml = LocationKML()

    /// - Parameters:
    ///   - units: of a table.
    ///   - width: of the terminal that a table is for; nil: all of its columns.
    package init(format: Format, clock: LocalClock, units: Units = .metric, width: Int? = nil) {
        self.format = format
        self.clock = clock
        self.units = units
        self.width = width
    }

    package mutating func lines(_ page: [Wire.Location]) throws -> [String] {
        defer { isFirst = false }
        return (isFirst ? head(isEmpty: page.isEmpty) : []) + (try body(page))
    }

    /// The lines after the last page.
    package func end() -> [String] {
        switch format {
        case .gpx: gpx.tail()
        case .geojson: geojson.tail()
        case .kml: kml.tail()
        case .table, .jsonl, .csv: []
        }
    }

    private func head(isEmpty: Bool) -> [String] {
        switch format {
        // A header above an empty table would only push the explanation up.
        case .table: isEmpty ? [] : [LocationText.header(zone: clock.zone, units: units, width: width)]
        case .jsonl: []
        case .csv: [LocationCSV.header]
        case .gpx: gpx.head()
        case .geojson: geojson.head()
        case .kml: kml.head()
        }
    }

    private mutating func body(_ page: [Wire.Location]) throws -> [String] {
        switch format {
        case .table: page.map { LocationText.row($0, clock: clock, units: units, width: width) }
        case .jsonl: try page.map { try JSONLine.encode($0) }
        case .csv: page.map(LocationCSV.row)
        case .gpx: gpx.lines(page)
        case .geojson: try geojson.lines(page)
        case .kml: kml.lines(page)
        }
    }
}
