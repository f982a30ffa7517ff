internal import Base
internal import SQLite
internal import Tracking

extension Salvage {
    struct Event {
        var row: EventRow
        var isUploaded: Bool
        /// Who refused it: it is owed to them again.
        var refusedBy: Set<DestinationName> = []
    }

    /// A table of events, as one of the schemas has it.
    private struct Source {
        var table: String
        var columns = EventRow.columns
        /// Its key.
        var order: String
        var uploaded = "0"
        var destination = "NULL"
        var limit = Events.limit
    }

    /// Bytes of the longest name of a geofence that is taken over: a hundred characters.
    private static let longestName = 1000

    /// Refused ones among them, as pending ones, oldest first. There are only so many.
    mutating func events() -> [Event] {
        var found: [RowKey: Event] = [:]
        do {
            for source in try sources() { read(source, into: &found) }
        } catch {
            isComplete = false
        }
        let ordered = found.values.sorted { $0.row.key < $1.row.key }
        if ordered.count > Events.limit { isComplete = false }
        return ordered.suffix(Events.limit)
    }

    /// The first schema has no events, and the second a table for those of geofences.
    private mutating func sources() throws(SQLiteError) -> [Source] {
        let former = "seq, ts, session, id, kind, geofence, extras, NULL, NULL, NULL, NULL"
        let isFormer = try hasTable("geofence_events")
        var sources: [Source] = []
        if isFormer {
            sources.append(
                Source(table: "geofence_events", columns: former, order: "ts, seq", uploaded: "uploaded"))
        } else if try hasTable("events") {
            sources.append(Source(table: "events", order: "seq", uploaded: "uploaded"))
        }
        if try hasTable("rejected_events") {
            let destination = try destinationColumn(of: RecordKind.events.rejected)
            sources.append(
                Source(
                    table: "rejected_events", columns: isFormer ? former : EventRow.columns,
                    order: "rejected_at, seq", destination: destination, limit: Self.letterLimit))
        }
        if sources.count < 2, try Schema.foundVersion(db) != 1 { isComplete = false }
        return sources
    }

    private mutating func read(_ source: Source, into found: inout [RowKey: Event]) {
        for direction in ["ASC", "DESC"] {
            do {
                let order = source.order.split(separator: ", ").map { "\($0) \(direction)" }
                let all = try db.prepare(
                    """
                    SELECT \(source.columns), \(source.uploaded), \(source.destination) FROM \(source.table) \
                    ORDER BY \(order.joined(separator: ", ")) LIMIT \(source.limit + 1)
                    """)
                var count = 0
                while try all.step() {
                    count += 1
                    guard let row = EventRow(all), row.crossing.geofence.utf8.count <= Self.longestName else {
                        isComplete = false
                        continue
                    }
                    if isErased(row.key, isEvent: true) { continue }
                    let former = found[row.key]
                    if let former, former.row.id != row.id { isComplete = false }
                    var event = Event(row: row, isUploaded: all.integer(11) != 0)
                    event.refusedBy = former?.refusedBy ?? []
                    if let name = all.text(12).flatMap({ DestinationName($0) }) {
                        event.refusedBy.insert(name)
                        event.isUploaded = false
                    }
                    found[row.key] = event
                }
                if count > source.limit { isComplete = false }
                return
            } catch {
                isComplete = false
            }
        }
    }
}
