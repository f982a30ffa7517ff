internal import Base
internal import SQLite

/// Frozen batches.
struct Batches: ~Copyable {
    private let db: Connection
    private let select: Statement
    private let insertRow: Statement
    private let deleteRow: Statement

    /// As `members(_:)` reads them.
    static let columns = """
        key, session, extras, first_ts, first_seq, last_ts, last_seq, max_seq, min_seq, locations, is_permanent, events
        """
}

extension Batches {
    init(_ db: Connection) throws(SQLiteError) {
        self.init(
            db: db,
            select: try db.prepare("SELECT id, body, is_piece FROM batches WHERE key = ?"),
            insertRow: try db.prepare(
                """
                INSERT INTO batches (id, session, extras, first_ts, first_seq, last_ts, last_seq, max_seq, min_seq, \
                locations, events, body, is_piece) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """),
            deleteRow: try db.prepare("DELETE FROM batches WHERE key = ? AND id = ?"))
    }

    /// In the order in which they are to be sent.
    func all() throws(SQLiteError) -> [Ledger.Frozen] {
        let rows = try db.prepare("SELECT \(Self.columns) FROM batches ORDER BY first_ts, first_seq, key")
        var frozen: [Ledger.Frozen] = []
        while try rows.step() {
            frozen.append(
                Ledger.Frozen(
                    key: rows.integer(0), members: Self.members(rows), isPermanent: rows.integer(10) != 0))
        }
        return frozen
    }

    static func members(_ row: borrowing Statement) -> BatchMembers {
        BatchMembers(
            session: row.integer(1), extras: row.integer(2),
            first: RowKey(ts: row.integer(3), seq: row.integer(4)),
            last: RowKey(ts: row.integer(5), seq: row.integer(6)), maxSeq: row.integer(7),
            minSeq: row.integer(8), count: Bounded.count(row.integer(9)),
            events: Bounded.count(row.integer(11)))
    }

    /// With its bytes.
    func read(_ batch: Ledger.Frozen, session: UUIDv7) throws(SQLiteError) -> FrozenBatch? {
        try select.bind([.integer(batch.key)])
        defer { select.reset() }
        guard try select.step(), let id = UUIDv7(bytes: select.blob(0)) else { return nil }
        return FrozenBatch(
            id: id, session: session, locations: batch.members.count, events: batch.members.events,
            body: select.blob(1), isPiece: select.integer(2) != 0, key: batch.key, members: batch.members)
    }

    func key(of id: UUIDv7) throws(SQLiteError) -> Int64? {
        let row = try db.prepare("SELECT key FROM batches WHERE id = ?")
        try row.bind([.blob(id.bytes)])
        return try row.step() ? row.integer(0) : nil
    }

    /// - Returns: its key.
    func insert(
        _ members: BatchMembers, id: UUIDv7, body: [UInt8], isPiece: Bool
    ) throws(SQLiteError) -> Int64 {
        try insertRow.run(
            .blob(id.bytes), .integer(members.session), .integer(members.extras), .integer(members.first.ts),
            .integer(members.first.seq), .integer(members.last.ts), .integer(members.last.seq),
            .integer(members.maxSeq), .integer(members.minSeq), .integer(Int64(members.count)),
            .integer(Int64(members.events)), .blob(body), .integer(isPiece ? 1 : 0))
        return db.lastInsertRowid
    }

    /// By more than its key, which the next one may have got.
    func remove(_ batch: FrozenBatch) throws(SQLiteError) {
        try deleteRow.run(.integer(batch.key), .blob(batch.id.bytes))
    }

    /// - Returns: the id of the batch, if it was there.
    func remove(key: Int64) throws(SQLiteError) -> UUIDv7? {
        let id = try db.prepare("DELETE FROM batches WHERE key = ? RETURNING id")
        try id.bind([.integer(key)])
        return try id.step() ? UUIDv7(bytes: id.blob(0)) : nil
    }

    func removePermanent() throws(SQLiteError) {
        try db.execute("DELETE FROM batches WHERE is_permanent = 1")
    }

    /// Whether the latest answer was a permanent refusal.
    func set(_ batch: FrozenBatch, isPermanent: Bool) throws(SQLiteError) {
        try db.prepare("UPDATE batches SET is_permanent = \(isPermanent ? 1 : 0) WHERE key = ? AND id = ?")
            .run(
                .integer(batch.key), .blob(batch.id.bytes))
    }

    // MARK: Salvage

    /// A row with this time and id that a salvaged batch may hold.
    static let isPendingMember = "ts = ? AND id = ? AND session = ? AND extras = ? AND uploaded = 0"

    /// - Parameter select: the sequence number of a row, by `isPendingMember`.
    /// - Returns: nil when a row is missing.
    static func keys(
        of rows: [(ts: Int64, id: [UInt8])], _ members: BatchMembers, _ select: borrowing Statement
    ) throws(SQLiteError) -> [RowKey]? {
        var keys: [RowKey] = []
        for (ts, id) in rows {
            try select.bind([.integer(ts), .blob(id), .integer(members.session), .integer(members.extras)])
            guard try select.step() else { return nil }
            keys.append(RowKey(ts: ts, seq: select.integer(0)))
            select.reset()
        }
        return keys
    }

    func markPermanent(key: Int64) throws(SQLiteError) {
        try db.execute("UPDATE batches SET is_permanent = 1 WHERE key = \(key)")
    }
}

extension BatchMembers {
    /// The locations of a batch: parameters 1 to 8 are `values`. The same rule as `contains`.
    static let condition = """
        (ts, seq) >= (?1, ?2) AND (ts, seq) <= (?3, ?4) AND seq <= ?5 AND seq >= ?6 AND session = ?7 \
        AND extras = ?8 AND uploaded = 0
        """

    static let parameters = 8

    var values: [Value] {
        [
            .integer(first.ts), .integer(first.seq), .integer(last.ts), .integer(last.seq), .integer(maxSeq),
            .integer(minSeq), .integer(session), .integer(extras),
        ]
    }
}
