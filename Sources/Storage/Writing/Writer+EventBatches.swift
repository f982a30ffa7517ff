internal import Base
internal import SQLite

extension BatchMembers {
    /// The range of no location: nothing lies at or after its first and at or before its last.
    static let none = (first: RowKey(ts: .max, seq: .max), last: RowKey(ts: .min, seq: .min))
}

extension FrozenBatch {
    /// Locations and events.
    package var rows: Int { locations + events }
}

/// What batches and dead letters do with geofence events.
extension Writer {
    /// Dead letters of both kinds.
    var rejectedCount: Int { tally.rejected + events.rejected }

    /// The oldest events of the session that no batch holds.
    func pendingEvents(of session: Int64, limit: Int) throws(SQLiteError) -> [EventRow] {
        guard events.pending[session] != nil else { return [] }
        return try eventRows("session = ? AND uploaded = 0 AND batch IS NULL", session, limit: limit)
    }

    func events(of batch: FrozenBatch) throws(SQLiteError) -> [EventRow] {
        guard batch.events > 0 else { return [] }
        return try eventRows("batch = ?", batch.key, limit: batch.events)
    }

    private func eventRows(_ rule: String, _ value: Int64, limit: Int) throws(SQLiteError) -> [EventRow] {
        let rows = try db.prepare(
            "SELECT \(EventRow.columns) FROM geofence_events WHERE \(rule) ORDER BY ts, seq LIMIT ?")
        try rows.bind([.integer(value), .integer(Int64(limit))])
        var found: [EventRow] = []
        while try rows.step() { if let row = EventRow(rows) { found.append(row) } }
        return found
    }

    /// Whether all of a draft's events are still there, and free.
    func areThere(_ keys: [RowKey]) throws(SQLiteError) -> Bool {
        guard !keys.isEmpty else { return true }
        let row = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND seq = ? AND uploaded = 0")
        for key in keys {
            try row.bind([.integer(key.ts), .integer(key.seq)])
            guard try row.step() else { return false }
            row.reset()
        }
        return true
    }

    // MARK: Parts of transactions

    /// A batch's key may be used again, once it is gone; its id is not.
    private static let isIn = "batch = ?1 AND EXISTS (SELECT 1 FROM batches WHERE key = ?1 AND id = ?2)"

    func assign(_ keys: [RowKey], toBatch batch: Int64) throws(SQLiteError) {
        guard !keys.isEmpty else { return }
        let assign = try db.prepare("UPDATE geofence_events SET batch = ? WHERE ts = ? AND seq = ?")
        for key in keys { try assign.run(.integer(batch), .integer(key.ts), .integer(key.seq)) }
    }

    /// Returns how many there were.
    func acknowledgeEvents(of batch: FrozenBatch) throws(SQLiteError) -> Int {
        guard batch.events > 0 else { return 0 }
        let act =
            options.keepsUploaded
            ? "UPDATE geofence_events SET uploaded = 1, batch = NULL" : "DELETE FROM geofence_events"
        try db.prepare(act + " WHERE " + Self.isIn).run(.integer(batch.key), .blob(batch.id.bytes))
        return db.changes
    }

    /// Returns how many there were.
    ///
    /// - Parameter circumstances: batch, status and time.
    func rejectEvents(of batch: FrozenBatch, _ circumstances: [Value]) throws(SQLiteError) -> Int {
        guard batch.events > 0 else { return 0 }
        try db.prepare(
            """
            INSERT INTO rejected_events (\(EventRow.columns), batch, http_status, rejected_at) \
            SELECT \(EventRow.columns), ?2, ?3, ?4 FROM geofence_events WHERE \(Self.isIn)
            """
        ).run([.integer(batch.key)] + circumstances)
        try db.prepare("DELETE FROM geofence_events WHERE " + Self.isIn).run(
            .integer(batch.key), .blob(batch.id.bytes))
        return db.changes
    }

    /// The batch is dissolved; its events go into other ones.
    func releaseEvents(ofBatch key: Int64) throws(SQLiteError) {
        try db.prepare("UPDATE geofence_events SET batch = NULL WHERE batch = ?").run(.integer(key))
    }

    /// After the transaction.
    mutating func bookEvents(_ count: Int, of batch: FrozenBatch, areKept: Bool) throws(SQLiteError) {
        guard count > 0 else { return }
        if areKept { events.uploaded += count } else { events.rows -= count }
        removeEvents(pending: count, ofSession: batch.members.session)
        try findOldestPendingEvent()
    }

    // MARK: Dead letters and deletion

    /// The same for events as `room(for:)` for locations.
    func eventRoom(for wanted: Int) throws(SQLiteError) -> (count: Int, doomed: [PrunedEvent]) {
        let free = max(Self.eventLimit - events.rows, 0)
        let doomed = wanted > free ? try oldestEvents("uploaded = 1", limit: wanted - free) : []
        return (min(wanted, free + doomed.count), doomed)
    }

    /// Part of a transaction: makes the first `count` that match the rule pending again.
    func moveEventsBack(_ rule: String = "1", limit: Int) throws(SQLiteError) {
        guard limit > 0 else { return }
        // They keep their numbers: a batch names its events one by one.
        try db.execute(
            """
            INSERT INTO geofence_events (\(EventRow.columns)) SELECT \(EventRow.columns) FROM rejected_events \
            WHERE \(rule) ORDER BY rejected_at, seq LIMIT \(limit)
            """)
        try deleteRejectedEvents(rule, limit: limit)
    }

    private func deleteRejectedEvents(_ rule: String = "1", limit: Int) throws(SQLiteError) {
        try db.execute(
            """
            DELETE FROM rejected_events WHERE (rejected_at, seq) IN \
            (SELECT rejected_at, seq FROM rejected_events WHERE \(rule) ORDER BY rejected_at, seq LIMIT \(limit))
            """)
    }

    /// One step of what happens to the dead letters that are events. Re-queueing ends when there is no room.
    mutating func proceedWithEvents(_ work: inout RejectedWork) throws(SQLiteError) {
        var limit = min(work.left, events.rejected, 1000)
        var doomed: [PrunedEvent] = []
        if work.act == .requeue { (limit, doomed) = try eventRoom(for: limit) }
        guard limit > 0 else { return work.left = 0 }
        if work.act == .purge { try db.execute("PRAGMA secure_delete = ON") }
        defer { if work.act == .purge { try? db.execute("PRAGMA secure_delete = OFF") } }
        try db.transaction { () throws(SQLiteError) in
            switch work.act {
            case .requeue:
                try delete(doomed)
                try moveEventsBack(limit: limit)
            case .purge: try deleteRejectedEvents(limit: limit)
            }
        }
        try loadEvents()
        work.done += limit
        work.left -= limit
    }

    /// The frozen batches that hold events which are to be deleted, by key.
    func batchesOfEvents(in deletion: Deletion) throws(SQLiteError) -> [Int64] {
        guard frozen.contains(where: { $0.members.events > 0 }) else { return [] }
        let rows = try db.prepare(
            "SELECT DISTINCT batch FROM geofence_events WHERE ts <= ? AND seq <= ? AND batch IS NOT NULL")
        try rows.bind([.integer(deletion.cutoff?.milliseconds ?? .max), .integer(deletion.maxEventSeq)])
        var keys: [Int64] = []
        while try rows.step() { keys.append(rows.integer(0)) }
        return keys
    }
}
