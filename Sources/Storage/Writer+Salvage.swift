internal import Base
internal import SQLite
internal import Tracking

/// Writes what was salvaged, under its own ids, with new sequence numbers. Everything may be repeated after a kill: what is
/// there already is not written again.
extension Writer {
    /// What has been numbered. Numbers are not given again in the next database: what the uploader sends, and a deletion
    /// that is under way, tell by them which rows they mean.
    struct Numbers {
        var next: Int64 = 1
        var nextEvent: Int64 = 1
        var lowest: Int64 = 0

        init(next: Int64 = 1, nextEvent: Int64 = 1, lowest: Int64 = 0) {
            (self.next, self.nextEvent, self.lowest) = (next, nextEvent, lowest)
        }

        init(past bounds: Deletion.Bounds) {
            next = bounded(seq: bounds.maxSeq) + 1
            nextEvent = bounded(seq: bounds.maxEventSeq) + 1
        }

        mutating func cover(_ other: Numbers) {
            next = max(next, other.next)
            nextEvent = max(nextEvent, other.nextEvent)
            lowest = min(lowest, other.lowest)
        }
    }

    var numbers: Numbers {
        get { Numbers(next: tally.nextSeq, nextEvent: events.nextSeq, lowest: tally.lowestSeq) }
        set {
            (tally.nextSeq, events.nextSeq, tally.lowestSeq) = (
                newValue.next, newValue.nextEvent, newValue.lowest
            )
        }
    }

    /// A deletion that is under way covers nothing that comes later, even if all that it covers has gone.
    mutating func passMarks() throws(SQLiteError) {
        for bounds in try unfinishedDeletion()?.bounds ?? [] { numbers.cover(Numbers(past: bounds)) }
    }

    /// One that is in use by nobody: a damaged file may hold the last there is.
    static func unused(besides keys: some Collection<Int64>) -> Int64 {
        let last = max(keys.max() ?? 0, 0)
        return last < .max ? last + 1 : (1...).first { !keys.contains($0) } ?? 1
    }

    var nextSessionKey: Int64 { Self.unused(besides: sessions.keys) }

    /// A damaged file may hold any number.
    static func bounded(seq: Int64) -> Int64 { min(seq, 1 << 62) }

    static func bounded(lowestSeq: Int64) -> Int64 { min(max(lowestSeq, -1 << 62), 0) }

    /// What has to be remembered of the damaged database, whether or not its rows read.
    ///
    /// - Parameter name: of the file.
    /// - Returns: nil, or when it is not to be read any more, whether all of it has been imported: it was read to its end,
    ///   or has been tried too often.
    mutating func beginImport(_ salvage: borrowing Salvage, name: String) throws(SQLiteError) -> Bool? {
        let attempt = Self.attempt(name)
        let attempts = try counter(attempt)
        guard (0..<Salvage.attempts).contains(attempts) else { return attempts == Salvage.complete }
        let (losses, erased, ages, lowest) = (salvage.losses, salvage.erased, salvage.ages, salvage.lowestSeq)
        let present = try counter(Self.endpoint)
        let endpoint = present == 0 ? salvage.endpoint : present
        let known = try unfinishedDeletion()?.bounds ?? []
        let marks = known.filter { bounds in !erased.contains { $0.covers(bounds) } } + erased
        let knowsAges = try Self.ageMemory { (name) throws(SQLiteError) in try counter(name) } != nil
        var numbers = numbers
        for bounds in erased { numbers.cover(Numbers(past: bounds)) }
        numbers.lowest = min(numbers.lowest, lowest)
        self.numbers = numbers
        try db.transaction { () throws(SQLiteError) in
            try setCounter(attempt, attempts + 1)
            guard attempts == 0 else { return }
            try note(losses)
            if !erased.isEmpty { try mark(Array(marks.suffix(Self.requestLimit))) }
            if !knowsAges, let ages { try write(ages) }
            try setCounter(Self.lowestSeq, numbers.lowest)
            try setCounter(Self.endpoint, endpoint)
        }
        return nil
    }

    private static func attempt(_ name: String) -> String { "salvage of " + name }

    /// Whatever becomes of the file's name: what has been deleted since, by its user or for its acknowledgement, must not
    /// come back.
    func endImport(name: String, isComplete: Bool) throws(SQLiteError) {
        try setCounter(Self.attempt(name), isComplete ? Salvage.complete : Salvage.attempts)
    }

    /// Deletions that were under way in a database of which nothing reads.
    func remember(_ erasing: [Deletion.Bounds]) throws(SQLiteError) {
        guard try unfinishedDeletion() == nil else { return }
        try db.transaction { () throws(SQLiteError) in try mark(erasing) }
    }

    /// - Parameter done: how many rows have been, locations and events.
    mutating func importRows(_ salvage: inout Salvage, done: inout Int) throws(SQLiteError) {
        // No set may be forgotten before its rows are written; the salvage bounds them.
        extrasLimit = .max
        var names = Names()
        var letters = salvage.deadLetters()[...]
        var cursor = Salvage.Cursor()
        while !cursor.isAtEnd {
            var rows = salvage.next(&cursor)
            // In the order of time, because the last row of a session tells how it goes on.
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
            salvaged.row.key.seq = tally.nextSeq
            tally.nextSeq += 1
            renamed.append(salvaged)
        }
        let new = names.new
        try db.transaction { () throws(SQLiteError) in
            try insert(new, firstSeq: renamed.first?.row.key.seq ?? tally.nextSeq)
            let mark = try db.prepare("UPDATE locations SET uploaded = 1 WHERE ts = ? AND seq = ?")
            for salvaged in renamed where try !exists(salvaged.row.location) {
                try salvaged.row.run(statements.insert)
                guard salvaged.isUploaded else { continue }
                try mark.run(.integer(salvaged.row.key.ts), .integer(salvaged.row.key.seq))
            }
        }
        names.new = []
    }

    /// The session's key in this database. One that is not there yet is to be written in the transaction of its rows.
    mutating func key(
        ofSession old: Int64, firstTime: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) -> Int64 {
        if let known = names.sessions[old] { return known }
        let found = salvage.session(old)
        if let id = found?.id, let known = sessions.first(where: { $0.value == id })?.key {
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
        let key = nextSessionKey
        sessions[key] = session.id
        names.sessions[old] = key
        names.new.append((key, session))
        return key
    }

    mutating func version(
        ofExtras old: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) throws(SQLiteError) -> Int64 {
        if let known = names.extras[old] { return known }
        let version = try version(ofExtras: salvage.extras(old))
        names.extras[old] = version
        return version
    }

    /// Part of a transaction.
    func insert(_ new: [(key: Int64, session: Salvage.Session)], firstSeq: Int64) throws(SQLiteError) {
        guard !new.isEmpty else { return }
        let insert = try db.prepare(
            """
            INSERT INTO sessions (key, id, started_at, stopped_at, first_seq, last_seq, odometer, is_tracking) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """)
        for (key, session) in new {
            try insert.run(
                .integer(key), .blob(session.id.bytes), .integer(session.startedAt),
                .optional(session.stoppedAt), .integer(firstSeq), .integer(firstSeq - 1),
                .real(session.odometer), .integer(session.isTracking ? 1 : 0))
        }
    }

    /// Their rows have new numbers, and may lie between those of others.
    private func settle(_ keys: [Int64: Int64]) throws(SQLiteError) {
        let wanted = Set(keys.values)
        var found: [(key: Int64, last: Int64, count: Int64)] = []
        do {
            let groups = try db.prepare("SELECT session, MAX(seq), COUNT(*) FROM locations GROUP BY session")
            while try groups.step() {
                guard wanted.contains(groups.integer(0)) else { continue }
                found.append((groups.integer(0), groups.integer(1), groups.integer(2)))
            }
        }
        try db.transaction { () throws(SQLiteError) in
            let update = try db.prepare("UPDATE sessions SET first_seq = ?, last_seq = ? WHERE key = ?")
            for session in found {
                try update.run(
                    .integer(session.last - session.count + 1), .integer(session.last), .integer(session.key))
            }
        }
    }
}
