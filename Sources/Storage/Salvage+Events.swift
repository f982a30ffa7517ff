internal import SQLite
internal import Tracking

extension Salvage {
    struct Event {
        var row: EventRow
        var isUploaded: Bool
    }

    /// The first schema has no events; and what cannot be read is lost.
    mutating func readEvents(_ db: borrowing Connection) {
        for direction in ["ASC", "DESC"] {
            do {
                let all = try db.prepare(
                    """
                    SELECT \(EventRow.columns), uploaded FROM geofence_events \
                    ORDER BY ts \(direction), seq \(direction) LIMIT \(Writer.eventLimit)
                    """)
                while try all.step() {
                    guard let row = EventRow(all) else { continue }
                    events[row.key.seq] = Event(row: row, isUploaded: all.integer(7) != 0)
                }
                return
            } catch {
                continue
            }
        }
    }
}

extension Writer {
    /// Writes salvaged events under their own ids, with new sequence numbers.
    ///
    /// - Parameter keys: the present keys of sessions that have come back already, by their former ones.
    mutating func importEvents(_ salvage: Salvage, sessions keys: inout [Int64: Int64]) throws(SQLiteError) {
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
    }
}
