public import ControlProtocol

/// Turns pages of locations into lines; the header comes with the first page, also an empty one.
public struct HistoryWriter {
    /// What the lines are.
    public enum Format: String, Sendable, CaseIterable {
        /// For people.
        case table
        /// One JSON object a line.
        case jsonl
        /// Comma-separated values with a header.
        case csv
    }

    private let format: Format
    private let clock: Clock
    private var isFirst = true

    /// Makes a writer for one export.
    public init(format: Format, clock: Clock) {
        self.format = format
        self.clock = clock
    }

    /// The lines of the next page.
    public mutating func lines(_ page: [Wire.Location]) throws -> [String] {
        defer { isFirst = false }
        switch format {
        case .jsonl: return try page.map { try JSONText.line($0) }
        case .csv: return (isFirst ? [LocationCSV.header] : []) + page.map(LocationCSV.row)
        case .table:
            let rows = page.map { LocationText.row($0, clock: clock) }
            // A header above nothing would only push the explanation up.
            return (isFirst && !page.isEmpty ? [LocationText.header(zone: clock.zone)] : []) + rows
        }
    }
}
