package import ControlProtocol

/// Formats pages of dead letters; the header is output with the first page.
package struct RejectedWriter {
    package enum Format: String, Sendable, CaseIterable {
        /// For people.
        case table
        /// One JSON object per line.
        case jsonl
        /// Comma-separated values with a header.
        case csv
    }

    private let format: Format
    private let clock: LocalClock
    private let columns: Int?
    private var isFirst = true
    /// What was said with the row before.
    private var said: String?
    /// Number of events left out of comma-separated values, whose columns are those of a location.
    package private(set) var leftOut = 0

    /// Creates a writer for one list.
    ///
    /// - Parameter columns: width to which table lines are truncated, if at all.
    package init(format: Format, clock: LocalClock, columns: Int? = nil) {
        self.format = format
        self.clock = clock
        self.columns = columns
    }

    package mutating func lines(_ page: [Wire.Rejected]) throws -> [String] {
        defer { isFirst = false }
        switch format {
        case .jsonl: return try page.map { try JSONLine.encode($0) }
        case .csv:
            let header = "rejected_at,http_status,batch_id," + LocationCSV.header + ",reason"
            leftOut += page.count { $0.location == nil }
            return (isFirst ? [header] : []) + page.compactMap(Self.csv)
        case .table:
            return (isFirst && !page.isEmpty ? [Text.cut(layout.header, to: columns)] : [])
                + page.flatMap { reason($0) + [table($0)] }
        }
    }

    /// What the server said, above the first row of those that it was said of.
    private mutating func reason(_ row: Wire.Rejected) -> [String] {
        guard row.reason != said else { return [] }
        said = row.reason
        let text = "  " + (said.map { "said: " + Text.safe($0) } ?? "no reason was given:")
        guard let columns else { return [text] }
        return Text.wrap(text, width: columns - 2).map { "  " + $0 }
    }

    private static func csv(_ row: Wire.Rejected) -> String? {
        row.location.map { location in
            let fields = [row.rejectedAt, String(row.httpStatus), row.batchId].map(LocationCSV.field)
            return [
                fields.joined(separator: ","), LocationCSV.row(location), LocationCSV.field(row.reason ?? ""),
            ]
            .joined(separator: ",")
        }
    }

    private func table(_ row: Wire.Rejected) -> String {
        let location = row.location.map {
            "\(Quantity.fixed($0.latitude, 6)) \(Quantity.fixed($0.longitude, 6))"
        }
        let crossing = row.geofenceEvent.map { "\(Text.safe($0.type)) \(Text.safe($0.geofenceId))" }
        let event = row.vehicleEvent.map {
            [$0.kind, $0.type, $0.subject ?? ""].map { Text.safe($0) }.joined(separator: " ")
        }
        let line = layout.row([
            clock.local(row.rejectedAt), String(row.httpStatus), Text.safe(String(row.batchId.suffix(12))),
            (row.location?.timestamp ?? row.geofenceEvent?.timestamp ?? row.vehicleEvent?.timestamp)
                .map { clock.local($0) } ?? "-",
            location ?? crossing ?? event ?? "-",
        ])
        return Text.cut(line, to: columns)
    }

    private var layout: Table {
        Table(
            [
                .init(title: "REJECTED (\(clock.zone.name))", width: 19, worth: 2),
                .init(title: "HTTP", width: 4, isRight: true, worth: 9),
                .init(title: "BATCH", width: 12, worth: 1), .init(title: "TIME OF FIX", width: 19, worth: 9),
                .init(title: "LOCATION", width: 15, worth: 9),
            ], width: columns)
    }
}
