internal import Base
internal import SQLite

/// The result of counting all rows, stored in the database at a clean shutdown: a start then takes as long with a
/// million rows as with a thousand. It is removed before anything else is done; after any other shutdown the rows are
/// counted.
struct StoredTallies {
    /// Rows from which on counting them, and checking the file, would noticeably delay a start.
    static let largeTable = 50_000
    private static let rowCounter = "tally_rows"
    /// Counters beside the pending rows of each session; that of the rows shows that there are tallies.
    private static let names = [rowCounter, "tally_uploaded", "tally_next_seq"]

    let rows: Int64
    let uploaded: Int64
    let nextSeq: Int64
    /// For each destination that is known; nil for a number that cannot be right.
    let pending: [DestinationName: Pending]
    /// Number of destinations that are known.
    private let destinations: Int

    init(_ ledger: Ledger) {
        (rows, uploaded) = (Int64(ledger.locations.rows), Int64(ledger.locations.uploaded))
        nextSeq = ledger.locations.nextSeq
        pending = Dictionary(
            ledger.backlogs.map { ($0.name, $0.locations) }, uniquingKeysWith: { first, _ in first })
        destinations = ledger.names.count
    }

    private init(of names: [DestinationName], _ db: Connection, _ counters: borrowing Counters)
        throws(SQLiteError)
    {
        var numbers: [Int64] = []
        for name in Self.names { numbers.append(try counters.value(name)) }
        (rows, uploaded, nextSeq) = (numbers[0], numbers[1], numbers[2])
        var pending: [DestinationName: Pending] = [:]
        for name in names { pending[name] = try Self.pending(for: name, db, counters) }
        self.pending = pending
        destinations = names.count
    }

    /// - Returns: nil for one that cannot be right.
    private static func pending(
        for name: DestinationName, _ db: Connection, _ counters: borrowing Counters
    ) throws(SQLiteError) -> Pending? {
        let sessions = try db.prepare("SELECT key, pending FROM tallies WHERE destination = ?")
        try sessions.bind([.text(name.text)])
        var bySession: [Int64: Int] = [:]
        while try sessions.step() {
            guard (0...1 << 40).contains(sessions.integer(1)) else { return nil }
            bySession[sessions.integer(0)] = Int(sessions.integer(1))
        }
        let oldest = RowKey(
            ts: try counters.value(.tallyOldestTime, of: name),
            seq: try counters.value(.tallyOldestSeq, of: name))
        return Pending(bySession: bySession, oldest: bySession.isEmpty ? nil : oldest)
    }

    static func exist(in db: Connection) throws(SQLiteError) -> Bool {
        // An empty file does not have this table.
        guard try Schema.foundVersion(db) > 0 else { return false }
        return try db.value("SELECT 1 FROM counters WHERE name = '\(rowCounter)' AND value > 0") != nil
    }

    /// Reads and removes them.
    ///
    /// - Returns: nil when there are none.
    static func take(
        for names: [DestinationName], from db: Connection, _ counters: borrowing Counters
    ) throws(SQLiteError) -> StoredTallies? {
        guard try exist(in: db) else { return nil }
        let found = try StoredTallies(of: names, db, counters)
        try db.transaction { () throws(SQLiteError) in
            try db.execute("DELETE FROM tallies; DELETE FROM counters WHERE name LIKE 'tally!_%' ESCAPE '!'")
        }
        return found
    }

    /// Whether they can be right: a damaged file may contain any numbers.
    ///
    /// - Parameter hasDebts: what each destination is owed is written down; otherwise `main` is owed everything.
    func areSound(withDebts hasDebts: Bool) -> Bool {
        let counts = 0...Int64(1 << 40)
        guard [rows, uploaded, nextSeq].allSatisfy(counts.contains), nextSeq > 0, rows >= uploaded,
            pending.count == destinations, let all = pending[.main]?.count
        else { return false }
        return pending.values.allSatisfy { Int64($0.count) <= rows - uploaded }
            && (hasDebts || Int64(all) == rows - uploaded)
    }

    /// Part of a transaction.
    func write(to db: Connection, _ counters: borrowing Counters) throws(SQLiteError) {
        for (name, value) in zip(Self.names, [rows, uploaded, nextSeq]) { try counters.set(name, to: value) }
        let insert = try db.prepare(
            "INSERT OR REPLACE INTO tallies (destination, key, pending) VALUES (?, ?, ?)")
        for (name, pending) in pending.sorted(by: { $0.key < $1.key }) {
            let oldest = pending.oldest ?? .first
            try counters.set(.tallyOldestTime, of: name, to: oldest.ts)
            try counters.set(.tallyOldestSeq, of: name, to: oldest.seq)
            for (session, count) in pending.bySession {
                try insert.run(.text(name.text), .integer(session), .integer(Int64(count)))
            }
        }
    }
}
