internal import Base
internal import SQLite

/// Consecutive rejections: up to a limit the data is suspected, and beyond it the endpoint.
///
/// A *streak* is everything that became a dead letter since the latest acknowledgement. It is recorded batch by
/// batch, in the transaction of the rejection: a server that rejects everything may be noticed only days and restarts
/// later.
extension Writer {
    /// How many batches in a row may be rejected before the endpoint is suspected instead of the data.
    private static let suspicionLimit: Int64 = 3
    private static let consecutiveRejections = "consecutive_rejections"
    /// Unix milliseconds: the first trusted time after the latest suspicion ended; 0 before there was any.
    private static let trustedSince = "suspicion_ended"
    private static let notYet = Int64.max
    /// Seconds that dead letters are kept.
    private static let lifetime = 7.0 * 86_400

    /// The streak, as a condition on the rows of `rejected` and `rejected_events`.
    private static let isInStreak = "batch IN (SELECT batch FROM streak)"

    /// A damaged file may hold any number.
    private func consecutiveRejections() throws(SQLiteError) -> Int64 {
        min(max(try counter(Self.consecutiveRejections), 0), Self.suspicionLimit)
    }

    /// Counts a rejection, unless it is of a piece, and returns whether the endpoint is now suspected.
    mutating func countRejection(of batch: FrozenBatch) throws(SQLiteError) -> Bool {
        let before = try consecutiveRejections()
        let consecutive = before + (batch.isPiece ? 0 : 1)
        if isSuspected(batch, before: before, consecutive) {
            try suspect(after: consecutive)
            return true
        }
        try setCounter(Self.consecutiveRejections, consecutive)
        return false
    }

    /// Handles a 400 or 422: the rows become dead letters, unless the endpoint is suspected instead. A full table of
    /// dead letters evicts nothing: the batch waits for room, and is not counted until it has found some.
    ///
    /// - Parameter trusted: the time by which dead letters grow old; nil when no clock can be trusted.
    mutating func reject(
        _ batch: FrozenBatch, status: Int, at time: Timestamp, trusted: Timestamp?
    ) throws(SQLiteError) -> Rejection {
        let before = try consecutiveRejections()
        let consecutive = before + (batch.isPiece ? 0 : 1)
        // While the server is at fault, no dead letter expires.
        guard !isSuspected(batch, before: before, consecutive) else {
            try suspect(after: consecutive)
            return .suspected
        }
        let expiry = try expiry(at: trusted)
        let expired = try expired(before: expiry)
        guard rejectedCount - expired.0 - expired.1 + batch.rows <= Self.rejectedLimit else { return .full }
        let (count, eventCount) = try db.transaction { () throws(SQLiteError) in
            try forget(expired, before: expiry)
            let members = Statements.memberValues(batch.members)
            let circumstances: [Value] = [
                .blob(batch.id.bytes), .integer(Int64(status)), .integer(time.milliseconds),
            ]
            try statements.rejectMembers.run(members + circumstances)
            try statements.deleteMembers.run(members)
            let count = db.changes
            let eventCount = try rejectEvents(of: batch, circumstances)
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            try setCounter(Self.consecutiveRejections, consecutive)
            try db.prepare("INSERT OR IGNORE INTO streak (batch) VALUES (?)").run(.blob(batch.id.bytes))
            try writeTail()
            return (count, eventCount)
        }
        hasStreak = true
        tally.rejected -= expired.0
        events.rejected -= expired.1
        losses.expired += expired.0 + expired.1
        frozen.removeAll { $0.isOf(batch) }
        tally.rows -= count
        tally.rejected += count
        remove(pending: count, ofSession: batch.members.session)
        try findOldestPending(from: tally.oldestPending ?? batch.members.first)
        try bookEvents(eventCount, of: batch, areKept: false)
        events.rejected += eventCount
        return .deadLettered(count + eventCount)
    }

    /// Pieces of an isolation do not raise a suspicion; but while there is one nothing is sent, pieces included.
    private func isSuspected(_ batch: FrozenBatch, before: Int64, _ consecutive: Int64) -> Bool {
        before >= Self.suspicionLimit || !batch.isPiece && consecutive >= Self.suspicionLimit
    }

    /// The batch stays frozen as the probe, and the dead letters of the streak are pending again, as many as there is
    /// room for; the others follow with the next probe when there is room, or when a deletion under way is completed.
    private mutating func suspect(after consecutive: Int64) throws(SQLiteError) {
        // They come back with new numbers, by which a deletion under way would not know them any more.
        let room = try room(for: isErasing ? 0 : streak("rejected"))
        let eventRoom = try eventRoom(for: streak("rejected_events"))
        let letters = try deadLetters(where: Self.isInStreak, limit: room.count)
        try db.transaction { () throws(SQLiteError) in
            try setCounter(Self.consecutiveRejections, max(consecutive, Self.suspicionLimit))
            try delete(room.doomed)
            try moveBack(letters)
            try delete(eventRoom.doomed)
            try moveEventsBack(Self.isInStreak, limit: eventRoom.count)
        }
        try book(room.doomed)
        bookBack(letters)
        if eventRoom.count > 0 { try loadEvents() }
    }

    /// The number of dead letters of the streak in the table.
    private func streak(_ table: String) throws(SQLiteError) -> Int {
        guard hasStreak, rejectedCount > 0 else { return 0 }
        return Int(try db.value("SELECT COUNT(*) FROM \(table) WHERE \(Self.isInStreak)") ?? "") ?? 0
    }

    /// Part of the transaction of an acknowledgement: the server accepts what it is sent.
    func endStreak() throws(SQLiteError) {
        if try counter(Self.consecutiveRejections) >= Self.suspicionLimit {
            try setCounter(Self.trustedSince, Self.notYet)
        }
        try setCounter(Self.consecutiveRejections, 0)
        if hasStreak { try db.execute("DELETE FROM streak") }
    }

    /// What was rejected before this has expired; nil: nothing has. Many dead letters may have reached their age while a
    /// suspicion lasted, some of them for want of room in the queue: they are kept as long again, so that the operator has
    /// time to act.
    ///
    /// - Parameter trusted: taken for the end of the suspicion if it is the first since.
    private func expiry(at trusted: Timestamp?) throws(SQLiteError) -> Timestamp? {
        guard let trusted else { return nil }
        let expiry = trusted.advanced(bySeconds: -Self.lifetime)
        let since = try counter(Self.trustedSince)
        guard since > trusted.milliseconds else { return since < expiry.milliseconds ? expiry : nil }
        try setCounter(Self.trustedSince, trusted.milliseconds)
        return nil
    }

    /// The number of expired dead letters, and of those that are events. Those of the streak are kept: it is not yet
    /// known whose fault it was.
    private static let isExpired = "rejected_at < ? AND NOT \(isInStreak)"

    private func expired(before expiry: Timestamp?) throws(SQLiteError) -> (Int, Int) {
        guard let expiry, rejectedCount > 0 else { return (0, 0) }
        func count(_ table: String) throws(SQLiteError) -> Int {
            let row = try db.prepare("SELECT COUNT(*) FROM \(table) WHERE \(Self.isExpired)")
            try row.bind([.integer(expiry.milliseconds)])
            return try row.step() ? Int(row.integer(0)) : 0
        }
        return (try count("rejected"), try count("rejected_events"))
    }

    /// Part of a transaction.
    private func forget(_ counts: (Int, Int), before expiry: Timestamp?) throws(SQLiteError) {
        guard let expiry, counts.0 + counts.1 > 0 else { return }
        for table in ["rejected", "rejected_events"] {
            try db.prepare("DELETE FROM \(table) WHERE \(Self.isExpired)").run(.integer(expiry.milliseconds))
        }
        try note(Losses(expired: counts.0 + counts.1))
    }
}
