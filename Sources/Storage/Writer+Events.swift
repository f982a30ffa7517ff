package import Base
internal import SQLite
package import Tracking

/// What is to be written of the geofences for one fix: in the transaction of its location, if it has one.
package struct NewCrossings: Sendable {
    /// To be stored and uploaded; may be empty.
    package var events: [GeofenceEvent]
    /// The states that go with them.
    package var changes: [Geofences.Change]
    /// The session under way, or the one of the events between two sessions.
    package var session: UUIDv7
    /// When that session began, for its row, which is written with its first event.
    package var sessionStartedAt: Timestamp
    /// The session is one of tracking.
    package var isTracking: Bool
    /// The extras in force, a JSON object; nil when there are none.
    package var extras: String?
    /// Of the fix.
    package var time: Timestamp
    /// The fix time is trusted well enough to call other rows old by it.
    package var prunesByAge: Bool
    /// Only rows before this time may be deleted for their age, because time has jumped since. nil: all old ones.
    package var agesOnlyBefore: Timestamp?

    /// Everything that one write needs.
    package init(
        events: [GeofenceEvent], changes: [Geofences.Change], session: UUIDv7, sessionStartedAt: Timestamp,
        isTracking: Bool, extras: String?, time: Timestamp, prunesByAge: Bool,
        agesOnlyBefore: Timestamp? = nil
    ) {
        self.events = events
        self.changes = changes
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.isTracking = isTracking
        self.extras = extras
        self.time = time
        self.prunesByAge = prunesByAge
        self.agesOnlyBefore = agesOnlyBefore
    }
}

extension Writer {
    /// Events kept at most, uploaded and pending together.
    static let eventLimit = 10_000
    /// At most this many are pruned with one write.
    private static let pruneLimit = 16

    /// What is known by heart about the events, like `Tally` about the locations.
    struct EventTally {
        var rows = 0
        var uploaded = 0
        var rejected = 0
        var pending: [Int64: Int] = [:]
        /// No pending event lies before this one.
        var oldestPending: RowKey?
        var nextSeq: Int64 = 1
    }

    struct PrunedEvent {
        var key: RowKey
        var session: Int64
        var isUploaded: Bool
        /// It is deleted for its age, not for lack of room.
        var isOld = false
    }

    /// Counts everything once.
    mutating func loadEvents() throws(SQLiteError) {
        var tally = EventTally()
        // Never lower than before: a deletion that is under way tells by it what came later.
        tally.nextSeq = events.nextSeq
        let groups = try db.prepare(
            "SELECT session, COUNT(*), SUM(uploaded <> 0), MAX(seq) FROM geofence_events GROUP BY session")
        while try groups.step() {
            let (count, uploaded) = (Int(groups.integer(1)), Int(groups.integer(2)))
            tally.rows += count
            tally.uploaded += uploaded
            if count > uploaded { tally.pending[groups.integer(0)] = count - uploaded }
            tally.nextSeq = max(tally.nextSeq, Self.bounded(seq: groups.integer(3)) + 1)
        }
        let rejected = try db.prepare("SELECT COUNT(*), MAX(seq) FROM rejected_events")
        if try rejected.step() {
            tally.rejected = Int(rejected.integer(0))
            tally.nextSeq = max(tally.nextSeq, Self.bounded(seq: rejected.integer(1)) + 1)
        }
        events = tally
        try findOldestPendingEvent()
    }

    mutating func findOldestPendingEvent() throws(SQLiteError) {
        events.oldestPending = nil
        guard events.rows > events.uploaded else { return }
        let oldest = try db.prepare(
            "SELECT ts, seq FROM geofence_events WHERE uploaded = 0 ORDER BY ts, seq LIMIT 1")
        if try oldest.step() { events.oldestPending = RowKey(ts: oldest.integer(0), seq: oldest.integer(1)) }
    }

    // MARK: Writing

    /// Writes events and states that come without a location.
    ///
    /// - Parameter mayExist: an earlier attempt failed. Its COMMIT may have reached the file all the same.
    mutating func insert(_ new: NewCrossings, mayExist: Bool) throws(SQLiteError) {
        if mayExist, try exists(new) { return }
        let rows = try rows(for: new)
        let cutoff = new.prunesByAge ? cutoff(at: new.time, onlyBefore: new.agesOnlyBefore) : nil
        let pruned = try prunableEvents(before: cutoff, besides: rows.count)
        let lost = losses(of: pruned)
        try db.transaction { () throws(SQLiteError) in
            try write(rows, new.changes, pruning: pruned)
            try note(lost)
        }
        losses = losses + lost
        try book(rows, pruned)
    }

    func losses(of pruned: [PrunedEvent]) -> Losses {
        Losses(
            dropped: pruned.count { !$0.isUploaded && !$0.isOld },
            pruned: pruned.count { !$0.isUploaded && $0.isOld })
    }

    /// Whether the events are there already. States alone may be written twice.
    func exists(_ new: NewCrossings) throws(SQLiteError) -> Bool {
        guard let event = new.events.first else { return false }
        let row = try db.prepare("SELECT 1 FROM geofence_events WHERE ts = ? AND id = ?")
        try row.bind([.integer(event.crossing.time.milliseconds), .blob(event.id.bytes)])
        return try row.step()
    }

    /// The rows of the events, in the session that they belong to.
    mutating func rows(for new: NewCrossings) throws(SQLiteError) -> [EventRow] {
        guard !new.events.isEmpty else { return [] }
        try enter(session: new.session, startedAt: new.sessionStartedAt, isTracking: new.isTracking)
        guard let session = current?.key else { return [] }
        let extras = try version(ofExtras: new.extras)
        return new.events.enumerated().map { index, event in
            EventRow(
                key: RowKey(
                    ts: event.crossing.time.milliseconds, seq: events.nextSeq + Int64(index)),
                session: session, extras: extras, event: event)
        }
    }

    /// Part of a transaction.
    func write(
        _ rows: [EventRow], _ changes: [Geofences.Change], pruning pruned: [PrunedEvent]
    ) throws(SQLiteError) {
        if !rows.isEmpty {
            let insert = try db.prepare(
                "INSERT INTO geofence_events (\(EventRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
            for row in rows { try insert.run(row.values) }
        }
        try write(changes)
        try delete(pruned)
    }

    /// Part of a transaction.
    func delete(_ pruned: [PrunedEvent]) throws(SQLiteError) {
        guard !pruned.isEmpty else { return }
        let delete = try db.prepare("DELETE FROM geofence_events WHERE ts = ? AND seq = ?")
        for row in pruned { try delete.run(.integer(row.key.ts), .integer(row.key.seq)) }
    }

    mutating func book(_ rows: [EventRow], _ pruned: [PrunedEvent]) throws(SQLiteError) {
        for row in rows {
            events.rows += 1
            events.nextSeq = row.key.seq + 1
            events.pending[row.session, default: 0] += 1
            events.oldestPending = min(events.oldestPending ?? row.key, row.key)
        }
        var isOldestGone = false
        for row in pruned {
            events.rows -= 1
            if row.isUploaded {
                events.uploaded -= 1
            } else {
                removeEvents(pending: 1, ofSession: row.session)
                isOldestGone = isOldestGone || row.key == events.oldestPending
            }
        }
        if isOldestGone { try findOldestPendingEvent() }
    }

    /// Books events that have left, or have become uploaded, out of the tally.
    mutating func removeEvents(pending count: Int, ofSession session: Int64) {
        let left = (events.pending[session] ?? 0) - count
        events.pending[session] = left > 0 ? left : nil
    }

    // MARK: Retention

    /// What must go once so many more have been written. The rules are those of the locations, with a cap of their own;
    /// never a member of a batch.
    ///
    /// - Parameter cutoff: older rows are deleted for their age; nil: none are.
    func prunableEvents(before cutoff: Int64?, besides count: Int) throws(SQLiteError) -> [PrunedEvent] {
        let surplus = events.rows + count - Self.eventLimit
        var doomed = surplus > 0 ? try oldestEvents(limit: min(surplus, Self.pruneLimit)) : []
        if let cutoff, events.rows > 0, !options.isSyncing || events.uploaded > 0 {
            let rule = "ts < \(cutoff)" + (options.isSyncing ? " AND uploaded = 1" : "")
            for var row in try oldestEvents(rule, limit: Self.pruneLimit)
            where !doomed.contains(where: { $0.key == row.key }) {
                row.isOld = true
                doomed.append(row)
            }
        }
        return doomed
    }

    /// Outside every batch; received ones first.
    func oldestEvents(_ rule: String = "1", limit: Int) throws(SQLiteError) -> [PrunedEvent] {
        let rows = try db.prepare(
            """
            SELECT ts, seq, session, uploaded FROM geofence_events WHERE batch IS NULL AND \(rule) \
            ORDER BY uploaded DESC, ts, seq LIMIT \(limit)
            """)
        var found: [PrunedEvent] = []
        while try rows.step() {
            found.append(
                PrunedEvent(
                    key: RowKey(ts: rows.integer(0), seq: rows.integer(1)), session: rows.integer(2),
                    isUploaded: rows.integer(3) != 0))
        }
        return found
    }
}
