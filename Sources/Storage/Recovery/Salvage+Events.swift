internal import Base
internal import SQLite
internal import Tracking

extension Salvage {
    struct Event {
        var row: EventRow
        var isUploaded: Bool
    }

    /// Bytes of the longest name of a geofence that is taken over: a hundred characters.
    private static let longestName = 1000

    /// Refused ones among them, as pending ones, oldest first. There are only so many.
    mutating func geofenceEvents() -> [Event] {
        var found: [RowKey: Event] = [:]
        for table in [RecordKind.events.table, RecordKind.events.rejected] { read(table, into: &found) }
        let ordered = found.values.sorted { $0.row.key < $1.row.key }
        if ordered.count > Events.limit { isComplete = false }
        return ordered.suffix(Events.limit)
    }

    /// The first schema has no events.
    private mutating func read(_ table: String, into found: inout [RowKey: Event]) {
        let isRejected = table == RecordKind.events.rejected
        let (key, uploaded) = isRejected ? ("rejected_at", "0") : ("ts", "uploaded")
        for direction in ["ASC", "DESC"] {
            do {
                guard try db.value("SELECT 1 FROM sqlite_schema WHERE name = '\(table)'") != nil else {
                    if try Schema.foundVersion(db) != 1 { isComplete = false }
                    return
                }
                let all = try db.prepare(
                    """
                    SELECT \(EventRow.columns), \(uploaded) FROM \(table) \
                    ORDER BY \(key) \(direction), seq \(direction) LIMIT \(Events.limit + 1)
                    """)
                var count = 0
                while try all.step() {
                    count += 1
                    guard let row = EventRow(all), row.crossing.geofence.utf8.count <= Self.longestName else {
                        isComplete = false
                        continue
                    }
                    if isErased(row.key, isEvent: true) { continue }
                    let former = found.updateValue(
                        Event(row: row, isUploaded: all.integer(7) != 0), forKey: row.key)
                    if let former, former.row.id != row.id { isComplete = false }
                }
                if count > Events.limit { isComplete = false }
                return
            } catch {
                isComplete = false
            }
        }
    }
}
