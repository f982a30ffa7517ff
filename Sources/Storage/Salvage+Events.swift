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
        for table in ["geofence_events", "rejected_events"] { read(table, into: &found) }
        let ordered = found.values.sorted { $0.row.key < $1.row.key }
        if ordered.count > Writer.eventLimit { isComplete = false }
        return ordered.suffix(Writer.eventLimit)
    }

    /// The first schema has no events.
    private mutating func read(_ table: String, into found: inout [RowKey: Event]) {
        let isRejected = table == "rejected_events"
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
                    ORDER BY \(key) \(direction), seq \(direction) LIMIT \(Writer.eventLimit + 1)
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
                if count > Writer.eventLimit { isComplete = false }
                return
            } catch {
                isComplete = false
            }
        }
    }
}

extension Writer {
    /// Writes salvaged events under their own ids, with new sequence numbers.
    ///
    /// - Returns: how many there are.
    mutating func importEvents(_ salvage: inout Salvage, _ names: inout Names) throws(SQLiteError) -> Int {
        var renamed = salvage.geofenceEvents()
        for index in renamed.indices {
            let row = renamed[index].row
            renamed[index].row.session = key(
                ofSession: row.session, firstTime: row.key.ts, &salvage, &names)
            renamed[index].row.extras = try version(ofExtras: row.extras, &salvage, &names)
            renamed[index].row.key.seq = events.nextSeq
            events.nextSeq += 1
        }
        let new = names.new
        try db.transaction { () throws(SQLiteError) in
            try insert(new, firstSeq: tally.nextSeq)
            let exists = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND id = ?")
            let insert = try db.prepare(
                "INSERT INTO geofence_events (\(EventRow.columns), uploaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            for salvaged in renamed {
                try exists.bind([.integer(salvaged.row.key.ts), .blob(salvaged.row.id.bytes)])
                defer { exists.reset() }
                if try exists.step() { continue }
                try insert.run(salvaged.row.values + [.integer(salvaged.isUploaded ? 1 : 0)])
            }
        }
        names.new = []
        return renamed.count
    }
}
