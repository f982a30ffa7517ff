internal import Base
internal import SQLite

/// Frozen batches.
struct Batches: ~Copyable {
    private let db: Connection
    private let select: Statement
    private let insertRow: Statement
    private let deleteRow: Statement
}

extension Batches {
    init(_ db: Connection) throws(SQLiteError) {
        self.init(
            db: db,
            select: try db.prepare("SELECT id, format, request, body, is_piece FROM batches WHERE key = ?"),
            insertRow: try db.prepare(
                """
                INSERT INTO batches (destination, id, format, request, body, is_piece, \(BatchMembers.columns)) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """),
            deleteRow: try db.prepare("DELETE FROM batches WHERE key = ? AND id = ?"))
    }

    /// In the order in which they are to be sent. One that cannot be read is none: its rows go into another.
    func all() throws(SQLiteError) -> [(destination: DestinationName, batch: Ledger.Frozen)] {
        let rows = try db.prepare(
            """
            SELECT key, destination, is_permanent, \(BatchMembers.columns) FROM batches \
            ORDER BY first_ts IS NULL, first_ts, first_seq, key
            """)
        var frozen: [(DestinationName, Ledger.Frozen)] = []
        while try rows.step() {
            guard let destination = rows.text(1).flatMap({ DestinationName($0) }),
                let members = BatchMembers(rows, from: 3)
            else { continue }
            frozen.append(
                (
                    destination,
                    Ledger.Frozen(key: rows.integer(0), members: members, isPermanent: rows.integer(2) != 0)
                ))
        }
        return frozen
    }

    /// With its bytes.
    func read(
        _ batch: Ledger.Frozen, of destination: DestinationName, session: UUIDv7
    ) throws(SQLiteError) -> FrozenBatch? {
        try select.bind([.integer(batch.key)])
        defer { select.reset() }
        guard try select.step(), let id = UUIDv7(bytes: select.blob(0)) else { return nil }
        return FrozenBatch(
            destination: destination, id: id, session: session, request: Self.request(select, from: 1),
            isPiece: select.integer(4) != 0, key: batch.key, members: batch.members)
    }

    /// - Parameter column: of the format; those of the head and of the body follow.
    static func request(_ row: borrowing Statement, from column: Int32) -> StoredRequest {
        StoredRequest(
            format: row.text(column), head: row.isNull(column + 1) ? nil : row.blob(column + 1),
            body: row.blob(column + 2))
    }

    func key(of id: UUIDv7) throws(SQLiteError) -> Int64? {
        let row = try db.prepare("SELECT key FROM batches WHERE id = ?")
        try row.bind([.blob(id.bytes)])
        return try row.step() ? row.integer(0) : nil
    }

    /// - Returns: its key.
    func insert(
        _ members: BatchMembers, to destination: DestinationName, id: UUIDv7, _ request: StoredRequest,
        isPiece: Bool
    ) throws(SQLiteError) -> Int64 {
        try insertRow.run(
            [
                .text(destination.text), .blob(id.bytes), request.format.map { .text($0) } ?? .null,
                request.head.map { .blob($0) } ?? .null, .blob(request.body), .integer(isPiece ? 1 : 0),
            ] + members.values)
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

    /// Whether the latest answer was a permanent refusal.
    func set(_ batch: FrozenBatch, isPermanent: Bool) throws(SQLiteError) {
        try db.prepare("UPDATE batches SET is_permanent = \(isPermanent ? 1 : 0) WHERE key = ? AND id = ?")
            .run(.integer(batch.key), .blob(batch.id.bytes))
    }

    func markPermanent(key: Int64) throws(SQLiteError) {
        try db.execute("UPDATE batches SET is_permanent = 1 WHERE key = \(key)")
    }
}
