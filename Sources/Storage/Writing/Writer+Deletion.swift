internal import Base
internal import SQLite

/// A deletion, after which no position remains: of rows, in steps; then in the memory of the sessions, in databases that
/// were moved aside, in free space of this one, in its log.
extension Writer {
    /// Number of rows that one step deletes.
    private static let deletionStep: Int64 = 1000
    /// Maximum number of bytes in remaining rows for a deletion with a cutoff to rewrite the database: the copy is
    /// made in memory, and fixes wait for it. 100,000 locations take less.
    private static let largestCopy: Int64 = 16 << 20

    /// Milliseconds for which each attempt to empty the log waits for readers, and the number of attempts.
    private static let readerPatience = 50
    private static let attempts = 400

    /// Records that everything at or before `cutoff`, or everything that is there now, is to be deleted.
    ///
    /// The results of commands lose their positions at once: they may go out before the rows are gone.
    ///
    /// What an earlier deletion has left is done first, within its own bounds: "everything up to then", merged with a
    /// later and smaller request, would delete all that has come since.
    func beginDeletion(before cutoff: Timestamp?) throws(SQLiteError) -> Deletion {
        let new = Deletion.Bounds(
            cutoff: cutoff, maxSeq: ledger.locations.nextSeq - 1, maxEventSeq: ledger.events.nextSeq - 1)
        let bounds = try tables.counters.deletions().filter { !new.covers($0) } + [new]
        guard bounds.count <= Counters.deletionLimit else {
            throw SQLiteError(
                operation: "delete", code: .busy,
                message: "too many earlier deletions were not completed; restart beekond to complete them")
        }
        try securely { () throws(SQLiteError) in
            try tables.counters.set(deletions: bounds)
            try tables.commands.removePositions(upTo: cutoff)
        }
        return Deletion(bounds)
    }

    /// A deletion that was interrupted.
    func unfinishedDeletion() throws(SQLiteError) -> Deletion? {
        let bounds = try tables.counters.deletions()
        return bounds.isEmpty ? nil : Deletion(bounds)
    }

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

    // MARK: After the rows

    /// One step, after the rows have been deleted.
    mutating func erase(_ deletion: inout Deletion) throws(SQLiteError) {
        switch deletion.stage {
        case .rows: deletion.stage = .sessions
        case .sessions:
            try forgetPositions(upTo: deletion.cutoff)
            deletion.stage = .files
        case .files: deletion.stage = .freeSpace
        case .freeSpace:
            // Rows that were deleted before, or moved when pages were split, remain in free space.
            let used = try usedBytes()
            if deletion.cutoff == nil || used <= Self.largestCopy {
                try db.execute("VACUUM")
            } else {
                deletion.kept.append("the free space of beekon.db")
            }
            deletion.stage = .log
        case .log:
            deletion.waits += 1
            guard try db.emptyLog(waitingForReaders: Self.readerPatience) else {
                guard deletion.waits < Self.attempts else {
                    throw SQLiteError(
                        operation: "empty the log", code: .busy,
                        message: "a reader keeps the database open, and with it what was deleted")
                }
                return
            }
            let following = deletion.following
            try db.transaction { () throws(SQLiteError) in try tables.counters.set(deletions: following) }
            if following.isEmpty { deletion.stage = .done } else { deletion.proceed(to: following) }
        case .done: break
        }
    }

    private func usedBytes() throws(SQLiteError) -> Int64 {
        let pages = try Pragmas.number("page_count", db) - Pragmas.number("freelist_count", db)
        return try pages * Pragmas.number("page_size", db)
    }

    /// Removes the last positions and the parking spots of sessions whose last fix is deleted, the places of trips, and
    /// positions in the results of commands. Lengths and counts are kept.
    private mutating func forgetPositions(upTo cutoff: Timestamp?) throws(SQLiteError) {
        // Before the transaction, which writes the current session's.
        ledger.sessions.removePositions(upTo: cutoff)
        try securely { () throws(SQLiteError) in
            try writeTail()
            try tables.sessions.removePositions(upTo: cutoff)
            try tables.sessions.removeTripPlaces(upTo: cutoff)
            try tables.trips.removePlaces(upTo: cutoff)
            try tables.commands.removePositions(upTo: cutoff)
        }
    }
}
