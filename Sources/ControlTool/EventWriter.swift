package import ControlProtocol

/// Formats pages of events of the vehicle; the header is output with the first page.
package struct EventWriter {
    package enum Format: String, Sendable, CaseIterable {
        /// For people.
        case table
        /// One JSON object per line.
        case json
        /// Comma-separated values with a header.
        case csv
    }

    private let format: Format
    private let clock: LocalClock
    private let columns: Int?
    private var isFirst = true

    /// - Parameter columns: width to which table lines are truncated, if at all.
    package init(format: Format, clock: LocalClock, columns: Int? = nil) {
        self.format = format
        self.clock = clock
        self.columns = columns
    }

    package mutating func lines(_ page: [Wire.VehicleEvent]) throws -> [String] {
        defer { isFirst = false }
        switch format {
        case .json: return try page.map { try JSONLine.encode($0) }
        case .csv: return try (isFirst ? [Self.csvHeader] : []) + page.map(Self.csv)
        case .table:
            let header = Text.cut(
                row(isNarrow ? "TIME" : "TIME (\(clock.zone.name))", "KIND", "EVENT", "SUBJECT"), to: columns)
            return try (isFirst && !page.isEmpty ? [header] : []) + page.map(table)
        }
    }

    private static let csvHeader =
        "id,session_id,kind,type,subject,timestamp,time_estimated,latitude,longitude,accuracy,data"

    private static func csv(_ event: Wire.VehicleEvent) throws -> String {
        let numbers = [event.latitude, event.longitude, event.accuracy]
        let fields =
            [
                event.id, event.sessionId, event.kind, event.type, event.subject ?? "", event.timestamp ?? "",
                event.timeEstimated == true ? "true" : "false",
            ] + numbers.map { $0.map(Quantity.exact) ?? "" }
            + [try event.data.map { try JSONLine.encode($0) } ?? ""]
        return fields.map(LocationCSV.field).joined(separator: ",")
    }

    private func table(_ event: Wire.VehicleEvent) throws -> String {
        var time = event.timestamp.map { clock.local($0) } ?? (isNarrow ? "not known" : "not known yet")
        // Without the year and the seconds.
        if isNarrow, event.timestamp != nil { time = String(time.dropFirst(5).prefix(11)) }
        if event.timeEstimated == true { time = "~" + time }
        let data = try event.data.map { Text.safe(try JSONLine.encode($0)) }
        let rest = [event.subject.map { Text.safe($0) }, data].compactMap(\.self).joined(separator: " ")
        return Text.cut(
            row(time, Text.safe(event.kind), Text.safe(event.type), rest.isEmpty ? "-" : rest),
            to: columns)
    }

    private var isNarrow: Bool { columns.map { $0 < 60 } ?? false }

    private func row(_ time: String, _ kind: String, _ type: String, _ rest: String) -> String {
        [Text.fitted(time, isNarrow ? 12 : 20), Text.fitted(kind, 8), Text.fitted(type, 7), rest].joined(
            separator: " ")
    }
}
