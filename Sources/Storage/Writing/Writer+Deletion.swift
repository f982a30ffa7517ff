internal import Base
internal import SQLite

extension Writer {
    private static let deletionStep: Int64 = 1000

    /// One step of a deletion: locations first; dead letters and events come last, with what is left of the step.
    mutating func proceed(with deletion: inout Deletion) throws(SQLiteError) {
        let rows = try tables.locations.next(in: deletion, limit: Self.deletionStep)
        let last = rows.last?.key
        let doomed = try batches(losing: deletion, upTo: last)
        let room = Self.deletionStep - Int64(rows.count)
        let (dissolved, left) = try delete(upTo: last, doomed: doomed, deletion, room: room)
        deletion.dissolved += dissolved
        ledger.queue.remove(where: { batch in doomed.contains { $0.key == batch.key } })
        _ = ledger.locations.remove(rows)
        if let oldest = ledger.locations.oldestPending { try findOldestPending(from: oldest) }
        ledger.locations.count(rejected: try tables.deadLetters.count(.locations))
        try countEvents()
        deletion.removed += rows.count + Int(room - left)
        if left > 0 { deletion.stage = .sessions }
    }

    /// The frozen batches that hold rows which are to be deleted.
    private func batches(losing deletion: Deletion, upTo last: RowKey?) throws(SQLiteError) -> [Ledger.Frozen]
    {
        let frozen = ledger.queue.frozen
        var doomed: [Ledger.Frozen] = []
        if let last { doomed = try tables.locations.losing(frozen, upTo: last, maxSeq: deletion.maxSeq) }
        guard frozen.contains(where: { $0.members.events > 0 }) else { return doomed }
        let keys = try tables.events.batches(in: deletion).filter { key in !doomed.contains { $0.key == key }
        }
        return doomed + keys.compactMap { key in frozen.first { $0.key == key } }
    }

    private func delete(
        upTo last: RowKey?, doomed: [Ledger.Frozen], _ deletion: Deletion, room: Int64
    ) throws(SQLiteError) -> (dissolved: [UUIDv7], left: Int64) {
        try securely { () throws(SQLiteError) in
            var dissolved: [UUIDv7] = []
            for batch in doomed {
                try tables.events.release(fromBatch: batch.key)
                if let id = try tables.batches.remove(key: batch.key) { dissolved.append(id) }
            }
            if let last { try tables.locations.remove(upTo: last, maxSeq: deletion.maxSeq) }
            let left = try deleteOthers(deletion, room: room)
            try writeTail()
            return (dissolved, left)
        }
    }

    /// What is in the tables of records besides the locations. Returns what is left of the step.
    private func deleteOthers(_ deletion: Deletion, room: Int64) throws(SQLiteError) -> Int64 {
        var room = room
        let bounds = deletion.current
        for (kind, table, key) in RecordKind.tables where room > 0 && table != RecordKind.locations.table {
            try db.prepare(
                """
                DELETE FROM \(table) WHERE (\(key), seq) IN \
                (SELECT \(key), seq FROM \(table) WHERE ts <= ? AND seq <= ? LIMIT ?)
                """
            ).run(
                .integer(bounds.cutoff?.milliseconds ?? .max), .integer(kind.maxSeq(bounds)), .integer(room))
            room -= Int64(db.changes)
        }
        return room
    }
}
