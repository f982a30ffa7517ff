internal import Base
internal import SQLite

/// Geofence events. There are few of them, so each statement is prepared where it is used.
struct Events {
    /// Kept at most, uploaded and pending together.
    static let limit = 10_000

    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    func counts() throws(SQLiteError) -> [SessionCount] { try RecordKind.events.counts(db) }

    func oldestPending() throws(SQLiteError) -> RowKey? {
        let oldest = try db.prepare(
            "SELECT ts, seq FROM geofence_events WHERE uploaded = 0 ORDER BY ts, seq LIMIT 1")
        return try oldest.step() ? RowKey(ts: oldest.integer(0), seq: oldest.integer(1)) : nil
    }

    func exists(ts: Int64, id: [UInt8]) throws(SQLiteError) -> Bool {
        let row = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND id = ?")
        try row.bind([.integer(ts), .blob(id)])
        return try row.step()
    }

    func insert(_ rows: [EventRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        let insert = try db.prepare(
            "INSERT INTO geofence_events (\(EventRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
        for row in rows { try insert.run(row.values) }
    }

    /// Those of another database that are not there yet.
    func insert(salvaged events: [Salvage.Event]) throws(SQLiteError) {
        let exists = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND id = ?")
        let insert = try db.prepare(
            "INSERT INTO geofence_events (\(EventRow.columns), uploaded) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        for event in events {
            try exists.bind([.integer(event.row.key.ts), .blob(event.row.id.bytes)])
            defer { exists.reset() }
            if try exists.step() { continue }
            try insert.run(event.row.values + [.integer(event.isUploaded ? 1 : 0)])
        }
    }

    func remove(_ rows: [RetainedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        let delete = try db.prepare("DELETE FROM geofence_events WHERE ts = ? AND seq = ?")
        for row in rows { try delete.run(.integer(row.key.ts), .integer(row.key.seq)) }
    }

    /// Outside every batch; received ones first.
    func oldest(where rule: String = "1", limit: Int) throws(SQLiteError) -> [RetainedRow] {
        let rows = try db.prepare(
            """
            SELECT ts, seq, session, uploaded FROM geofence_events WHERE batch IS NULL AND \(rule) \
            ORDER BY uploaded DESC, ts, seq LIMIT \(limit)
            """)
        return try RetainedRow.all(rows)
    }

    /// Kept ones become pending. They keep their numbers, because a batch names its events one
    /// by one.
    func resend(_ keys: [RowKey]) throws(SQLiteError) {
        let move = try db.prepare(
            """
            UPDATE geofence_events SET uploaded = 0, batch = NULL \
            WHERE ts = ? AND seq = ? AND uploaded = 1
            """)
        for key in keys { try move.run(.integer(key.ts), .integer(key.seq)) }
    }
}

/// The events of batches: an event names the batch that holds it.
extension Events {
    /// A batch's key may be used again, once it is gone; its id is not.
    static let isMember = "batch = ?1 AND EXISTS (SELECT 1 FROM batches WHERE key = ?1 AND id = ?2)"

    /// The oldest of the session that no batch holds.
    func pending(of session: Int64, limit: Int) throws(SQLiteError) -> [EventRow] {
        try rows("session = ? AND uploaded = 0 AND batch IS NULL", session, limit: limit)
    }

    func members(of batch: FrozenBatch) throws(SQLiteError) -> [EventRow] {
        guard batch.events > 0 else { return [] }
        return try rows("batch = ?", batch.key, limit: batch.events)
    }

    private func rows(_ rule: String, _ value: Int64, limit: Int) throws(SQLiteError) -> [EventRow] {
        let rows = try db.prepare(
            "SELECT \(EventRow.columns) FROM geofence_events WHERE \(rule) ORDER BY ts, seq LIMIT ?")
        try rows.bind([.integer(value), .integer(Int64(limit))])
        var found: [EventRow] = []
        while try rows.step() { if let row = EventRow(rows) { found.append(row) } }
        return found
    }

    /// Whether all of them are still there, and pending.
    func arePending(_ keys: [RowKey]) throws(SQLiteError) -> Bool {
        guard !keys.isEmpty else { return true }
        let row = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND seq = ? AND uploaded = 0")
        for key in keys {
            try row.bind([.integer(key.ts), .integer(key.seq)])
            guard try row.step() else { return false }
            row.reset()
        }
        return true
    }

    func assign(_ keys: [RowKey], toBatch batch: Int64) throws(SQLiteError) {
        guard !keys.isEmpty else { return }
        let assign = try db.prepare("UPDATE geofence_events SET batch = ? WHERE ts = ? AND seq = ?")
        for key in keys { try assign.run(.integer(batch), .integer(key.ts), .integer(key.seq)) }
    }

    /// - Parameter keeps: they are marked instead of deleted.
    /// - Returns: how many there were.
    func acknowledge(_ batch: FrozenBatch, keeps: Bool) throws(SQLiteError) -> Int {
        guard batch.events > 0 else { return 0 }
        let act =
            keeps ? "UPDATE geofence_events SET uploaded = 1, batch = NULL" : "DELETE FROM geofence_events"
        try db.prepare(act + " WHERE " + Self.isMember).run(.integer(batch.key), .blob(batch.id.bytes))
        return db.changes
    }

    /// - Returns: how many there were.
    func removeMembers(of batch: FrozenBatch) throws(SQLiteError) -> Int {
        try db.prepare("DELETE FROM geofence_events WHERE " + Self.isMember).run(
            .integer(batch.key), .blob(batch.id.bytes))
        return db.changes
    }

    /// The batch is dissolved, and its events go into other ones.
    func release(fromBatch key: Int64) throws(SQLiteError) {
        try db.prepare("UPDATE geofence_events SET batch = NULL WHERE batch = ?").run(.integer(key))
    }

    /// The batches that hold events which a deletion covers.
    func batches(in deletion: Deletion) throws(SQLiteError) -> [Int64] {
        let rows = try db.prepare(
            "SELECT DISTINCT batch FROM geofence_events WHERE ts <= ? AND seq <= ? AND batch IS NOT NULL")
        try rows.bind([.integer(deletion.cutoff?.milliseconds ?? .max), .integer(deletion.maxEventSeq)])
        var keys: [Int64] = []
        while try rows.step() { keys.append(rows.integer(0)) }
        return keys
    }

    /// The keys of events of a salvaged batch that no batch holds here; nil when one is missing.
    func unassigned(
        _ rows: [(ts: Int64, id: [UInt8])], as members: BatchMembers
    ) throws(SQLiteError) -> [RowKey]? {
        let row = try db.prepare(
            "SELECT seq FROM geofence_events WHERE \(Batches.isPendingMember) AND batch IS NULL")
        return try Batches.keys(of: rows, members, row)
    }
}
