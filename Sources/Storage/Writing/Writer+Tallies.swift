internal import Base
internal import SQLite

/// The result of counting all rows, stored in the database at a clean shutdown: a start then takes as long with a
/// million rows as with a thousand. It is removed before anything else is done; after any other shutdown the rows are
/// counted.
extension Writer {
    /// Rows from which on counting them, and checking the file, would noticeably delay a start.
    static let largeTable = 50_000
    private static let rows = "tally_rows"
    /// Counters beside the pending rows of each session; that of the rows shows that there are tallies.
    private static let names = [rows, "tally_uploaded", "tally_next_seq"]

    static func hasTallies(_ db: Connection) throws(SQLiteError) -> Bool {
        // An empty file does not have this table.
        guard try Schema.foundVersion(db) > 0 else { return false }
        return try db.value("SELECT 1 FROM counters WHERE name = '\(rows)' AND value > 0") != nil
    }

    func writeTallies(from limit: Int) throws(SQLiteError) {
        let tally = ledger.locations
        guard tally.rows >= max(limit, 1) else { return }
        try db.transaction { () throws(SQLiteError) in
            try writeTail()
            let values = [Int64(tally.rows), Int64(tally.uploaded), tally.nextSeq]
            for (name, value) in zip(Self.names, values) { try tables.counters.set(name, to: value) }
            let insert = try db.prepare(
                "INSERT OR REPLACE INTO tallies (destination, key, pending) VALUES (?, ?, ?)")
            for backlog in ledger.backlogs {
                let oldest = backlog.locations.oldest ?? .first
                try tables.counters.set(.tallyOldestTime, of: backlog.name, to: oldest.ts)
                try tables.counters.set(.tallyOldestSeq, of: backlog.name, to: oldest.seq)
                for (session, count) in backlog.locations.bySession {
                    try insert.run(.text(backlog.name.text), .integer(session), .integer(Int64(count)))
                }
            }
        }
    }

    /// Takes over what was counted, and removes it.
    ///
    /// - Returns: false when there is nothing, or nothing that can be right.
    mutating func consumeTallies() throws(SQLiteError) -> Bool {
        guard try Self.hasTallies(db) else { return false }
        var numbers: [Int64] = []
        for name in Self.names { numbers.append(try tables.counters.value(name)) }
        var pending: [DestinationName: Pending] = [:]
        for name in ledger.names { pending[name] = try tally(of: name) }
        try db.transaction { () throws(SQLiteError) in
            try db.execute("DELETE FROM tallies; DELETE FROM counters WHERE name LIKE 'tally!_%' ESCAPE '!'")
        }
        // A damaged file may contain any numbers.
        let counts = 0...Int64(1 << 40)
        guard pending.count == ledger.names.count, numbers.allSatisfy(counts.contains), numbers[2] > 0,
            numbers[0] >= numbers[1], let all = pending[.main]?.count,
            pending.values.allSatisfy({ Int64($0.count) <= numbers[0] - numbers[1] }),
            ledger.hasDebts || Int64(all) == numbers[0] - numbers[1]
        else { return false }
        ledger.locations = Tally(
            rows: Int(numbers[0]), uploaded: Int(numbers[1]),
            nextSeq: max(ledger.locations.nextSeq, numbers[2]))
        for (name, pending) in pending { ledger[name].locations = pending }
        return true
    }

    /// - Returns: nil for one that cannot be right.
    private func tally(of name: DestinationName) throws(SQLiteError) -> Pending? {
        let sessions = try db.prepare("SELECT key, pending FROM tallies WHERE destination = ?")
        try sessions.bind([.text(name.text)])
        var bySession: [Int64: Int] = [:]
        while try sessions.step() {
            guard (0...1 << 40).contains(sessions.integer(1)) else { return nil }
            bySession[sessions.integer(0)] = Int(sessions.integer(1))
        }
        let oldest = RowKey(
            ts: try tables.counters.value(.tallyOldestTime, of: name),
            seq: try tables.counters.value(.tallyOldestSeq, of: name))
        return Pending(bySession: bySession, oldest: bySession.isEmpty ? nil : oldest)
    }
}
