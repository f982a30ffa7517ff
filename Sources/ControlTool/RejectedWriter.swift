public import ControlProtocol

/// Turns pages of dead letters into lines; the header comes with the first page.
public struct RejectedWriter {
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

    /// Makes a writer for one list.
    public init(format: Format, clock: Clock) {
        self.format = format
        self.clock = clock
    }

    /// The lines of the next page.
    public mutating func lines(_ page: [Wire.Rejected]) throws -> [String] {
        defer { isFirst = false }
        switch format {
        case .jsonl: return try page.map { try JSONText.line($0) }
        case .csv:
            let header = "rejected_at,http_status,batch_id," + LocationCSV.header
            return (isFirst ? [header] : []) + page.compactMap(Self.csv)
        case .table:
            let header = Self.row("REJECTED (\(clock.zone.name))", "HTTP", "BATCH", "TIME OF FIX", "LOCATION")
            return (isFirst && !page.isEmpty ? [header] : []) + page.map(table)
        }
    }

    private static func csv(_ row: Wire.Rejected) -> String? {
        row.location.map { location in
            let fields = [row.rejectedAt, String(row.httpStatus), row.batchId].map(LocationCSV.field)
            return fields.joined(separator: ",") + "," + LocationCSV.row(location)
        }
    }

    private func table(_ row: Wire.Rejected) -> String {
        let location = row.location.map {
            "\(Quantity.fixed($0.latitude, 6)) \(Quantity.fixed($0.longitude, 6))"
        }
        let event = row.geofenceEvent.map { "\(Text.safe($0.type)) \(Text.safe($0.geofenceId))" }
        return Self.row(
            clock.local(row.rejectedAt), String(row.httpStatus), Text.safe(String(row.batchId.suffix(12))),
            (row.location?.timestamp ?? row.geofenceEvent?.timestamp).map { clock.local($0) } ?? "-",
            location ?? event ?? "-")
    }

    private static func row(
        _ time: String, _ status: String, _ batch: String, _ fixTime: String, _ location: String
    ) -> String {
        [
            Text.left(time, 19), Text.right(status, 4), Text.left(batch, 12), Text.left(fixTime, 19),
            location,
        ].joined(separator: " ")
    }
}
