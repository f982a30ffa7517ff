internal import SQLite

/// The result of counting all rows, stored in the database at a clean shutdown: a start then takes as long with a
/// million rows as with a thousand. It is removed before anything else is done; after any other shutdown the rows are
/// counted.
extension Writer {
    /// Rows from which on counting them, and checking the file, would noticeably delay a start.
    static let largeTable = 50_000
    private static let rows = "tally_rows"
    /// Special keys besides those of the sessions; that of the rows shows that there are tallies.
    private static let names = [
        rows, "tally_uploaded", "tally_next_seq", "tally_oldest_ts", "tally_oldest_seq",
    ]

    static func hasTallies(_ db: borrowing Connection) throws(SQLiteError) -> Bool {
        // An empty file does not have this table.
        guard try Schema.foundVersion(db) > 0 else { return false }
        return try db.value("SELECT 1 FROM counters WHERE name = '\(rows)' AND value > 0") != nil
    }

    func leaveTallies(from limit: Int) throws(SQLiteError) {
        guard tally.rows >= max(limit, 1) else { return }
        let oldest = tally.oldestPending ?? .first
        let values = [Int64(tally.rows), Int64(tally.uploaded), tally.nextSeq, oldest.ts, oldest.seq]
        try db.transaction { () throws(SQLiteError) in
            try writeTail()
            for (name, value) in zip(Self.names, values) { try setCounter(name, value) }
            let insert = try db.prepare("INSERT OR REPLACE INTO tallies (key, pending) VALUES (?, ?)")
            for (session, count) in tally.pending {
                try insert.run(.integer(session), .integer(Int64(count)))
            }
        }
    }

    /// - Returns: whether there were any.
    mutating func takeTallies() throws(SQLiteError) -> Bool {
        guard try Self.hasTallies(db) else { return false }
        var numbers: [Int64] = []
        for name in Self.names { numbers.append(try counter(name)) }
        let sessions = try db.prepare("SELECT key, pending FROM tallies")
        var pending: [Int64: Int] = [:]
        while try sessions.step() { pending[sessions.integer(0)] = Int(clamping: sessions.integer(1)) }
        let all = pending.values.reduce(0) { $0 &+ $1 }
        try db.transaction { () throws(SQLiteError) in
            try db.execute("DELETE FROM tallies; DELETE FROM counters WHERE name LIKE 'tally!_%' ESCAPE '!'")
        }
        // A damaged file may contain any numbers.
        guard all >= 0, pending.values.allSatisfy({ (0...1 << 40).contains($0) }), numbers[1] >= 0,
            numbers[0] == numbers[1] &+ Int64(all), (1...1 << 62) ~= numbers[2]
        else { return false }
        tally.rows = Int(numbers[0])
        tally.uploaded = Int(numbers[1])
        tally.nextSeq = numbers[2]
        tally.pending = pending
        tally.oldestPending = all > 0 ? RowKey(ts: numbers[3], seq: numbers[4]) : nil
        return true
    }
}
