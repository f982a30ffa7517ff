internal import Base
internal import SQLite
internal import Tracking

/// Writes what was salvaged, under its own ids, with new sequence numbers. Everything may be repeated after a kill: what is
/// there already is not written again.
extension Writer {
    /// What has to be remembered of the damaged database, whether or not its rows read.
    ///
    /// - Parameter name: of the file.
    /// - Returns: nil, or when it is not to be read any more, whether all of it has been imported: it was read to its end,
    ///   or has been tried too often.
    mutating func beginImport(_ salvage: borrowing Salvage, name: String) throws(SQLiteError) -> Bool? {
        let attempt = Self.attempt(name)
        let attempts = try tables.counters.value(attempt)
        guard (0..<Salvage.attempts).contains(attempts) else { return attempts == Salvage.complete }
        let (losses, erased, ages) = (salvage.losses, salvage.erased, salvage.ages)
        let present = try tables.counters.value(Counters.endpoint)
        let endpoint = present == 0 ? salvage.endpoint : present
        let known = try tables.counters.deletions()
        let marks = known.filter { bounds in !erased.contains { $0.covers(bounds) } } + erased
        let knowsAges = try tables.counters.ages() != nil
        var numbers = Ledger.Numbers()
        for bounds in erased { numbers.cover(Ledger.Numbers(past: bounds)) }
        numbers.lowest = min(numbers.lowest, salvage.lowestSeq)
        ledger.cover(numbers)
        let lowest = ledger.lowestSeq
        try db.transaction { () throws(SQLiteError) in
            try tables.counters.set(attempt, to: attempts + 1)
            guard attempts == 0 else { return }
            try tables.counters.add(losses)
            if !erased.isEmpty {
                try tables.counters.set(deletions: Array(marks.suffix(Counters.deletionLimit)))
            }
            if !knowsAges, let ages { try tables.counters.set(ages) }
            try tables.counters.set(Counters.lowestSeq, to: lowest)
            try tables.counters.set(Counters.endpoint, to: endpoint)
        }
        return nil
    }

    private static func attempt(_ name: String) -> String { "salvage of " + name }

    /// Records that the import is done, whatever becomes of the file's name: what the user or an acknowledgement has
    /// deleted since must not come back.
    func endImport(name: String, isComplete: Bool) throws(SQLiteError) {
        try tables.counters.set(Self.attempt(name), to: isComplete ? Salvage.complete : Salvage.attempts)
    }

    /// Deletions that were under way in a database of which nothing reads.
    func remember(_ erasing: [Deletion.Bounds]) throws(SQLiteError) {
        guard try tables.counters.deletions().isEmpty else { return }
        try db.transaction { () throws(SQLiteError) in try tables.counters.set(deletions: erasing) }
    }

    /// - Parameter done: how many rows have been, locations and events.
    mutating func importRows(_ salvage: inout Salvage, done: inout Int) throws(SQLiteError) {
        // No set may be forgotten before its rows are written; the salvage bounds them.
        ledger.extras.keepAll()
        var names = Names()
        var letters = salvage.deadLetters()[...]
        var cursor = Salvage.Cursor()
        while !cursor.isAtEnd {
            var rows = salvage.next(&cursor)
            // In order of time, because a session resumes from its last row.
            let end = rows.last?.row.key
            let due = letters.prefix { letter in cursor.isAtEnd || end.map { letter.row.key < $0 } ?? false }
            letters = letters.dropFirst(due.count)
            rows = (due + rows).sorted { $0.row.key < $1.row.key }
            for start in stride(from: 0, to: rows.count, by: Salvage.step) {
                try write(rows[start..<min(start + Salvage.step, rows.count)], &salvage, &names)
            }
            done += rows.count
            try checkpointIfDue()
        }
        try settle(names.sessions)
        done += try importEvents(&salvage, &names)
        try importBatches(salvage, names)
    }

    /// What sessions and extras of the damaged database are called in this one.
    struct Names {
        var sessions: [Int64: Int64] = [:]
        var extras: [Int64: Int64] = [0: 0]
        /// Sessions that have yet to be written.
        var new: [(key: Int64, session: Salvage.Session)] = []
    }

    private mutating func write(
        _ rows: ArraySlice<Salvage.Row>, _ salvage: inout Salvage, _ names: inout Names
    ) throws(SQLiteError) {
        var renamed: [Salvage.Row] = []
        for var salvaged in rows {
            let row = salvaged.row
            salvaged.row.session = key(ofSession: row.session, firstTime: row.key.ts, &salvage, &names)
            salvaged.row.extras = try version(ofExtras: row.extras, &salvage, &names)
            salvaged.row.key.seq = ledger.locations.nextSeq
            ledger.locations.pass(salvaged.row.key.seq)
            renamed.append(salvaged)
        }
        let new = names.new
        let firstSeq = renamed.first?.row.key.seq ?? ledger.locations.nextSeq
        try db.transaction { () throws(SQLiteError) in
            try tables.sessions.insert(salvaged: new, firstSeq: firstSeq)
            try tables.locations.insert(salvaged: renamed)
        }
        names.new = []
    }

    /// The session's key in this database. One that is not there yet is to be written in the transaction of its rows.
    private mutating func key(
        ofSession old: Int64, firstTime: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) -> Int64 {
        if let known = names.sessions[old] { return known }
        let found = salvage.session(old)
        if let id = found?.id, let known = ledger.sessions.key(of: id) {
            names.sessions[old] = known
            return known
        }
        var random = SystemRandomNumberGenerator()
        var generator = UUIDv7Generator(using: &random)
        let session =
            found
            ?? Salvage.Session(
                id: generator.next(at: Timestamp(milliseconds: firstTime)), startedAt: firstTime,
                stoppedAt: firstTime, odometer: 0)
        let key = ledger.sessions.nextKey
        ledger.sessions.add(key, session.id)
        names.sessions[old] = key
        names.new.append((key, session))
        return key
    }

    private mutating func version(
        ofExtras old: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) throws(SQLiteError) -> Int64 {
        if let known = names.extras[old] { return known }
        let version = try version(ofExtras: salvage.extras(old))
        names.extras[old] = version
        return version
    }

    /// Their rows have new numbers, and may lie between those of others.
    private func settle(_ keys: [Int64: Int64]) throws(SQLiteError) {
        let wanted = Set(keys.values)
        let found = try tables.locations.counts().filter { wanted.contains($0.session) }
        try db.transaction { () throws(SQLiteError) in try tables.sessions.setNumbers(found) }
    }

    // MARK: Events, batches

    /// - Returns: how many there are.
    private mutating func importEvents(_ salvage: inout Salvage, _ names: inout Names) throws(SQLiteError)
        -> Int
    {
        var renamed = salvage.geofenceEvents()
        for index in renamed.indices {
            let row = renamed[index].row
            renamed[index].row.session = key(
                ofSession: row.session, firstTime: row.key.ts, &salvage, &names)
            renamed[index].row.extras = try version(ofExtras: row.extras, &salvage, &names)
            renamed[index].row.key.seq = ledger.events.nextSeq
            ledger.events.pass(renamed[index].row.key.seq)
        }
        let (new, nextSeq) = (names.new, ledger.locations.nextSeq)
        try db.transaction { () throws(SQLiteError) in
            try tables.sessions.insert(salvaged: new, firstSeq: nextSeq)
            try tables.events.insert(salvaged: renamed)
        }
        names.new = []
        return renamed.count
    }

    /// After their rows. A batch is imported only if all of its rows were, and if no later rows lie between them: new
    /// numbers cannot distinguish those.
    private func importBatches(_ salvage: borrowing Salvage, _ names: Names) throws(SQLiteError) {
        for key in salvage.batchKeys() {
            guard let batch = salvage.batch(key), let session = names.sessions[batch.members.session],
                let extras = names.extras[batch.members.extras]
            else { continue }
            var members = batch.members
            (members.session, members.extras) = (session, extras)
            (members.maxSeq, members.minSeq) = (ledger.locations.nextSeq - 1, ledger.lowestSeq)
            (members.first, members.last) = BatchMembers.none
            guard let rows = try tables.locations.pending(batch.locations, as: members),
                let events = try tables.events.unassigned(batch.events, as: members)
            else { continue }
            if let first = rows.min(), let last = rows.max() { (members.first, members.last) = (first, last) }
            guard try tables.locations.count(members) == Int64(rows.count),
                try tables.batches.key(of: batch.id) == nil
            else { continue }
            try db.transaction { () throws(SQLiteError) in
                let key = try tables.batches.insert(
                    members, id: batch.id, body: batch.body, isPiece: batch.isPiece)
                try tables.events.assign(events, toBatch: key)
                if batch.isPermanent { try tables.batches.markPermanent(key: key) }
            }
        }
    }
}
