internal import Base
internal import SQLite
internal import Tracking

/// Locations, ordered by time. Those statements are kept prepared that run with each fix or batch.
struct Locations: ~Copyable {
    private let db: Connection
    private let insertRow: Statement
    private let selectByID: Statement
    private let selectOldest: Statement
    private let deleteRow: Statement
    private let selectOldestPending: Statement
    private let selectUploaded: Statement
    private let selectPending: Statement
    private let deleteMembers: Statement
    private let markMembers: Statement
    private let countMembers: Statement

    private static let retained = "ts, seq, session, uploaded, extras"
}

extension Locations {
    init(_ db: Connection) throws(SQLiteError) {
        let places = Array(repeating: "?", count: 18).joined(separator: ", ")
        self.init(
            db: db,
            insertRow: try db.prepare("INSERT INTO locations (\(Schema.columns)) VALUES (\(places))"),
            selectByID: try db.prepare("SELECT 1 FROM locations WHERE ts = ? AND id = ?"),
            selectOldest: try db.prepare(
                "SELECT \(Self.retained) FROM locations WHERE (ts, seq) >= (?, ?) ORDER BY ts, seq LIMIT ?"),
            deleteRow: try db.prepare("DELETE FROM locations WHERE ts = ? AND seq = ?"),
            selectOldestPending: try db.prepare(
                "SELECT ts, seq FROM locations WHERE (ts, seq) >= (?, ?) AND uploaded = 0 ORDER BY ts, seq LIMIT 1"
            ),
            selectUploaded: try db.prepare(
                """
                SELECT \(Self.retained) FROM locations WHERE (ts, seq) >= (?, ?) AND ts < ? \
                AND uploaded = 1 ORDER BY ts, seq LIMIT ?
                """),
            selectPending: try db.prepare(
                """
                SELECT \(Schema.columns) FROM locations WHERE (ts, seq) >= (?, ?) AND session = ? AND uploaded = 0 \
                ORDER BY ts, seq LIMIT ?
                """),
            deleteMembers: try db.prepare("DELETE FROM locations WHERE " + BatchMembers.condition),
            markMembers: try db.prepare("UPDATE locations SET uploaded = 1 WHERE " + BatchMembers.condition),
            countMembers: try db.prepare("SELECT COUNT(*) FROM locations WHERE " + BatchMembers.condition))
    }

    func counts() throws(SQLiteError) -> [SessionCount] { try RecordKind.locations.counts(db) }

    /// - Parameter sessionID: the session behind its key.
    func latest(sessionID: (Int64) -> UUIDv7?) throws(SQLiteError) -> Location? {
        let row = try db.prepare("SELECT \(Schema.columns) FROM locations ORDER BY ts DESC, seq DESC LIMIT 1")
        guard try row.step() else { return nil }
        return LocationRow(row, sessionID: sessionID)?.location
    }

    func exists(_ location: Location) throws(SQLiteError) -> Bool {
        try selectByID.bind([.integer(location.fix.time.milliseconds), .blob(location.id.bytes)])
        defer { selectByID.reset() }
        return try selectByID.step()
    }

    func insert(_ row: LocationRow) throws(SQLiteError) {
        try row.run(insertRow)
    }

    /// Those of another database that are not there yet.
    func insert(salvaged rows: [Salvage.Row]) throws(SQLiteError) {
        let mark = try db.prepare("UPDATE locations SET uploaded = 1 WHERE ts = ? AND seq = ?")
        for salvaged in rows where try !exists(salvaged.row.location) {
            try insert(salvaged.row)
            guard salvaged.isUploaded else { continue }
            try mark.run(.integer(salvaged.row.key.ts), .integer(salvaged.row.key.seq))
        }
    }

    func remove(_ rows: [RetainedRow]) throws(SQLiteError) {
        for row in rows { try deleteRow.run(.integer(row.key.ts), .integer(row.key.seq)) }
    }

    // MARK: Searches

    func oldestPending(from start: RowKey) throws(SQLiteError) -> RowKey? {
        try selectOldestPending.bind([.integer(start.ts), .integer(start.seq)])
        defer { selectOldestPending.reset() }
        return try selectOldestPending.step()
            ? RowKey(ts: selectOldestPending.integer(0), seq: selectOldestPending.integer(1)) : nil
    }

    func oldest(from start: RowKey, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        try selectOldest.bind([.integer(start.ts), .integer(start.seq), .integer(Int64(limit))])
        return try RetainedRow.all(selectOldest, hasExtras: true)
    }

    func uploaded(from start: RowKey, before cutoff: Int64, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        try selectUploaded.bind([
            .integer(start.ts), .integer(start.seq), .integer(cutoff), .integer(Int64(limit)),
        ])
        return try RetainedRow.all(selectUploaded, hasExtras: true)
    }

    /// The oldest pending rows of a session.
    ///
    /// - Parameters:
    ///   - sent: a batch that is taken for acknowledged.
    ///   - expected: how many there are about.
    func pending(
        of session: Int64, id: UUIDv7?, from start: RowKey, limit: Int, besides sent: BatchMembers?,
        expected: Int
    ) throws(SQLiteError) -> [LocationRow] {
        try selectPending.bind([
            .integer(start.ts), .integer(start.seq), .integer(session),
            .integer(Int64(limit + (sent?.count ?? 0))),
        ])
        defer { selectPending.reset() }
        var rows: [LocationRow] = []
        rows.reserveCapacity(min(limit, expected))
        while rows.count < limit, try selectPending.step() {
            guard let row = LocationRow(selectPending, sessionID: { _ in id }) else {
                // An unreadable row belongs to no batch: it would be deleted with it, or be missing from it.
                guard rows.isEmpty else { break }
                continue
            }
            let isSent = sent?.contains(
                row.key, session: row.session, extras: row.extras, isUploaded: false)
            if isSent != true { rows.append(row) }
        }
        return rows
    }

    // MARK: Members of batches

    func count(_ members: BatchMembers) throws(SQLiteError) -> Int64? {
        try countMembers.bind(members.values)
        defer { countMembers.reset() }
        return try countMembers.step() ? countMembers.integer(0) : nil
    }

    /// Oldest first.
    func members(_ members: BatchMembers, sessionID: (Int64) -> UUIDv7?) throws(SQLiteError) -> [LocationRow]
    {
        let select = try db.prepare(
            "SELECT \(Schema.columns) FROM locations WHERE \(BatchMembers.condition) ORDER BY ts, seq")
        try select.bind(members.values)
        var rows: [LocationRow] = []
        while try select.step() {
            if let row = LocationRow(select, sessionID: sessionID) { rows.append(row) }
        }
        return rows
    }

    /// - Parameter keeps: they are marked instead of deleted.
    /// - Returns: how many there were.
    func acknowledge(_ members: BatchMembers, keeps: Bool) throws(SQLiteError) -> Int {
        if keeps { try markMembers.run(members.values) } else { try deleteMembers.run(members.values) }
        return db.changes
    }

    /// - Returns: how many there were.
    func removeMembers(_ members: BatchMembers) throws(SQLiteError) -> Int {
        try acknowledge(members, keeps: false)
    }
}

/// What deletions, re-sending and salvage do.
extension Locations {
    /// The next rows that a deletion covers.
    func next(in deletion: Deletion, limit: Int64) throws(SQLiteError) -> [RetainedRow] {
        let rows = try db.prepare(
            "SELECT ts, seq, session, uploaded FROM locations WHERE ts <= ? AND seq <= ? ORDER BY ts, seq LIMIT ?"
        )
        try rows.bind([
            .integer(deletion.cutoff?.milliseconds ?? .max), .integer(deletion.maxSeq), .integer(limit),
        ])
        return try RetainedRow.all(rows)
    }

    func remove(upTo last: RowKey, maxSeq: Int64) throws(SQLiteError) {
        try db.prepare("DELETE FROM locations WHERE (ts, seq) <= (?, ?) AND seq <= ?").run(
            .integer(last.ts), .integer(last.seq), .integer(maxSeq))
    }

    /// Which of the batches hold one of the rows that go; others may reach as far back, with rows of their own behind.
    func losing(_ batches: [Ledger.Frozen], upTo end: RowKey, maxSeq: Int64) throws(SQLiteError)
        -> [Ledger.Frozen]
    {
        let own = BatchMembers.parameters + 1
        let loss = try db.prepare(
            """
            SELECT 1 FROM locations WHERE \(BatchMembers.condition) AND (ts, seq) <= (?\(own), ?\(own + 1)) \
            AND seq <= ?\(own + 2) LIMIT 1
            """)
        var losing: [Ledger.Frozen] = []
        for batch in batches where batch.members.first <= end {
            try loss.bind(
                batch.members.values + [.integer(end.ts), .integer(end.seq), .integer(maxSeq)])
            if try loss.step() { losing.append(batch) }
        }
        return losing
    }

    /// Kept rows become pending, under the numbers below `lowest`.
    func resend(_ keys: [RowKey], below lowest: Int64) throws(SQLiteError) {
        let move = try db.prepare(
            "UPDATE locations SET uploaded = 0, seq = ? WHERE ts = ? AND seq = ? AND uploaded = 1")
        for (index, key) in keys.enumerated() {
            try move.run(.integer(lowest - 1 - Int64(index)), .integer(key.ts), .integer(key.seq))
        }
    }

    /// The keys of the pending rows of a salvaged batch; nil when one is missing.
    func pending(
        _ rows: [(ts: Int64, id: [UInt8])], as members: BatchMembers
    ) throws(SQLiteError) -> [RowKey]? {
        let row = try db.prepare("SELECT seq FROM locations WHERE " + Batches.isPendingMember)
        return try Batches.keys(of: rows, members, row)
    }
}
