internal import Base
internal import SQLite
internal import Tracking

extension Salvage {
    struct Event {
        /// With its custody, as far as it is known.
        var row: EventRow
        /// Destinations that had refused the event: it is pending for them again.
        var refusedBy: Set<DestinationName> = []
    }

    /// A table of events, as one of the schemas has it.
    private struct Source {
        var table: String
        var columns = String(EventRow.checkedColumns)
        var boot = "NULL, NULL"
        /// Columns of the table's key.
        var order: String
        var uploaded = "0"
        var destination = "NULL"
        var limit = Events.limit
    }

    /// Bytes of the longest text that is taken over: the name of a geofence has a hundred characters, and what is said of an
    /// event `VehicleEvent.dataLimit` bytes.
    private static let longestText = max(1000, VehicleEvent.dataLimit)

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
        let former = "seq, ts, session, id, kind, geofence, extras, NULL, NULL, NULL, NULL, 0, NULL"
        let isFormer = try hasTable("geofence_events")
        var sources: [Source] = []
        if isFormer {
            sources.append(
                Source(table: "geofence_events", columns: former, order: "ts, seq", uploaded: "uploaded"))
        } else if try hasTable("events") {
            sources.append(
                Source(table: "events", boot: EventRow.bootColumns, order: "seq", uploaded: "uploaded"))
        }
        if try hasTable("rejected_events") {
            let destination = try destinationColumn(of: RecordKind.events.rejected)
            sources.append(
                Source(
                    table: "rejected_events", columns: isFormer ? former : String(EventRow.checkedColumns),
                    order: "rejected_at, seq", destination: destination, limit: Self.letterLimit))
        }
        if sources.count < 2, try Schema.foundVersion(source("events")) != 1 { isComplete = false }
        return sources
    }

    private mutating func read(_ source: Source, into found: inout [RowKey: Event]) {
        do {
            let all = try self.source(source.table).prepare(
                """
                SELECT \(source.columns), \(source.boot), \(source.uploaded), \(source.destination) \
                FROM \(source.table) ORDER BY \(source.order) LIMIT \(source.limit + 1)
                """)
            var count = 0
            while try all.step() {
                count += 1
                let behind = EventRow.columnCount
                guard let row = EventRow(all, boot: behind), row.longestText <= Self.longestText else {
                    isComplete = false
                    continue
                }
                if isErased(row.key, isEvent: true) { continue }
                let former = found[row.key]
                if let former, former.row.id != row.id { isComplete = false }
                var event = Event(row: row)
                event.row.custody = EventRow.Custody(rawValue: all.integer(behind + 2)) ?? .received
                event.refusedBy = former?.refusedBy ?? []
                if let name = all.text(behind + 3).flatMap({ DestinationName($0) }) {
                    event.refusedBy.insert(name)
                    event.row.custody = .pending
                } else if event.row.custody == .pending {
                    members.note(row)
                }
                found[row.key] = event
            }
            if count > source.limit { isComplete = false }
        } catch {
            isComplete = false
        }
    }
}

extension Salvage {
    /// The commands of servers: one that has been run must not be run again, and one that has not, must be.
    mutating func commands() -> [CommandRecord] {
        do {
            guard try hasTable("commands") else { return [] }
            var records: [CommandRecord] = []
            var last = Int64.min
            while true {
                let page = try Commands.page(after: last, limit: Self.step, source("commands"))
                records += page.records
                guard let seq = page.last, !page.isLast, records.count < CommandRecord.limit else { break }
                last = seq
            }
            let erased = erased
            return records.map { Self.withoutErasedPosition($0, erased) }
        } catch {
            isComplete = false
            return []
        }
    }

    private static func withoutErasedPosition(
        _ record: CommandRecord, _ erased: [Deletion.Bounds]
    ) -> CommandRecord {
        guard let time = record.outcome.positionAt,
            erased.contains(where: { time.milliseconds <= $0.lastTime })
        else { return record }
        return record.done(with: CommandOutcome(error: record.outcome.error), at: record.doneAt)
    }
}
