internal import SQLite

extension Salvage {
    struct Event {
        var row: EventRow
        var isUploaded: Bool
    }

    /// The first schema has no events.
    mutating func readEvents(of table: String, _ db: borrowing Connection) throws(SQLiteError) {
        guard try db.value("SELECT 1 FROM sqlite_schema WHERE name = '\(table)'") != nil else {
            if try Schema.foundVersion(db) != 1 { isComplete = false }
            return
        }
        let isRejected = table == "rejected_events"
        let (key, uploaded) = isRejected ? ("rejected_at", "0") : ("ts", "uploaded")
        for direction in ["ASC", "DESC"] {
            do {
                let all = try db.prepare(
                    """
                    SELECT \(EventRow.columns), \(uploaded) FROM \(table) \
                    ORDER BY \(key) \(direction), seq \(direction) LIMIT \(Writer.eventLimit + 1)
                    """)
                var count = 0
                while try all.step() {
                    count += 1
                    guard let row = EventRow(all) else {
                        isComplete = false
                        continue
                    }
                    let former = events.updateValue(
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
    /// - Parameter keys: the present keys of sessions that have come back already, by their former ones.
    /// - Returns: how many there is room for.
    mutating func importEvents(
        _ salvage: Salvage, sessions keys: inout [Int64: Int64]
    ) throws(SQLiteError) -> Int {
        let ordered = salvage.events.values.sorted { $0.row.key < $1.row.key }.suffix(Self.eventLimit)
        var renamed: [Salvage.Event] = []
        for var salvaged in ordered {
            let old = salvaged.row.session
            let known: Int64
            if let key = keys[old] {
                known = key
            } else {
                known = try importSession(salvage.sessions[old], firstTime: salvaged.row.key.ts)
            }
            keys[old] = known
            salvaged.row.session = known
            salvaged.row.key.seq = events.nextSeq
            salvaged.row.extras = try version(ofExtras: salvage.extras[salvaged.row.extras])
            events.nextSeq += 1
            renamed.append(salvaged)
        }
        let insert = try db.prepare(
            "INSERT INTO geofence_events (\(EventRow.columns), uploaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        try db.transaction { () throws(SQLiteError) in
            for salvaged in renamed {
                try insert.run(salvaged.row.values + [.integer(salvaged.isUploaded ? 1 : 0)])
            }
        }
        return renamed.count
    }
}
