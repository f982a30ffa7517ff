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
        for name in ledger.names {
            ledger[name].queue.remove(where: { batch in doomed.contains { $0.key == batch.key } })
        }
        try removed(rows)
        try countLetters()
        try countEvents()
        deletion.removed += rows.count + Int(room - left)
        if left > 0 { deletion.stage = .sessions }
    }

    /// The frozen batches that hold rows which are to be deleted.
    private func batches(losing deletion: Deletion, upTo last: RowKey?) throws(SQLiteError) -> [Ledger.Frozen]
    {
        let frozen = ledger.backlogs.flatMap(\.queue.frozen)
        let hasEvents = frozen.contains { !$0.members.events.isEmpty }
        let events = hasEvents ? try tables.events.covered(by: deletion) : SeqSet()
        return frozen.filter { batch in
            last.map { batch.members.holdsLocations(upTo: $0, maxSeq: deletion.maxSeq) } ?? false
                || !batch.members.events.intersection(events).isEmpty
        }
    }

    private func delete(
        upTo last: RowKey?, doomed: [Ledger.Frozen], _ deletion: Deletion, room: Int64
    ) throws(SQLiteError) -> (dissolved: [UUIDv7], left: Int64) {
        try securely { () throws(SQLiteError) in
            var dissolved: [UUIDv7] = []
            for batch in doomed {
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
        let others =
            [(RecordKind.locations, RecordKind.locations.rejected)]
            + RecordKind.all.dropFirst().flatMap { [($0, $0.table), ($0, $0.rejected)] }
        for (kind, table) in others where room > 0 {
            try db.prepare(
                """
                DELETE FROM \(table) WHERE (\(table.key)) IN \
                (SELECT \(table.key) FROM \(table) WHERE \(Deletion.Bounds.coversTime) AND seq <= ? LIMIT ?)
                """
            ).run(.integer(bounds.lastTime), .integer(kind.maxSeq(bounds)), .integer(room))
            room -= Int64(db.changes)
        }
        return room
    }
}
