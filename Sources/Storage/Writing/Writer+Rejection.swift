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

    /// A damaged file may hold any number.
    private func consecutiveRejections() throws(SQLiteError) -> Int64 {
        min(max(try tables.counters.value(Self.consecutiveRejections), 0), Self.suspicionLimit)
    }

    /// Counts a rejection, unless it is of a piece, and returns whether the endpoint is now suspected.
    mutating func countRejection(of batch: FrozenBatch) throws(SQLiteError) -> Bool {
        let before = try consecutiveRejections()
        let consecutive = before + (batch.isPiece ? 0 : 1)
        if isSuspected(batch, before: before, consecutive) {
            try suspect(after: consecutive)
            return true
        }
        try tables.counters.set(Self.consecutiveRejections, to: consecutive)
        return false
    }

    /// Handles a 400 or 422: the rows become dead letters, unless the endpoint is suspected instead. A full table of
    /// dead letters evicts nothing: the batch waits for room, and is not counted until there is some.
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
        guard ledger.rejected - expired.all + batch.rows <= DeadLetters.limit else { return .full }
        let (count, eventCount) = try db.transaction { () throws(SQLiteError) in
            if let expiry, expired.all > 0 {
                try tables.deadLetters.removeExpired(before: expiry)
                try tables.counters.add(Losses(expired: expired.all))
            }
            try tables.deadLetters.insertLocations(of: batch, status: status, at: time)
            let count = try tables.locations.removeMembers(batch.members)
            var eventCount = 0
            if batch.events > 0 {
                try tables.deadLetters.insertEvents(of: batch, status: status, at: time)
                eventCount = try tables.events.removeMembers(of: batch)
            }
            try tables.batches.remove(batch)
            try tables.counters.set(Self.consecutiveRejections, to: consecutive)
            try tables.deadLetters.addToStreak(batch.id)
            try writeTail()
            return (count, eventCount)
        }
        ledger.hasStreak = true
        ledger.losses.expired += expired.all
        ledger.locations.remove(rejected: expired.locations)
        ledger.events.remove(rejected: expired.events)
        ledger.queue.remove(batch)
        ledger.locations.reject(count, session: batch.members.session)
        try findOldestPending(from: ledger.locations.oldestPending ?? batch.members.first)
        if eventCount > 0 {
            ledger.events.reject(eventCount, session: batch.members.session)
            try findOldestPendingEvent()
        }
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
        let room = try room(for: tables.counters.isErasing ? 0 : countInStreak(.locations))
        let eventRoom = try eventRoom(for: countInStreak(.events))
        let letters = try tables.deadLetters.locations(where: DeadLetters.isInStreak, limit: room.count)
        try db.transaction { () throws(SQLiteError) in
            try tables.counters.set(Self.consecutiveRejections, to: max(consecutive, Self.suspicionLimit))
            try tables.locations.remove(room.doomed)
            try requeue(letters)
            try tables.events.remove(eventRoom.doomed)
            try tables.deadLetters.requeueEvents(where: DeadLetters.isInStreak, limit: eventRoom.count)
        }
        try removed(room.doomed)
        requeued(letters)
        if eventRoom.count > 0 { try countEvents() }
    }

    /// The number of dead letters of the streak.
    private func countInStreak(_ kind: RecordKind) throws(SQLiteError) -> Int {
        guard ledger.hasStreak, ledger.rejected > 0 else { return 0 }
        return try tables.deadLetters.countInStreak(kind)
    }

    /// Part of the transaction of an acknowledgement: the server accepts what it is sent.
    func endStreak() throws(SQLiteError) {
        if try tables.counters.value(Self.consecutiveRejections) >= Self.suspicionLimit {
            try tables.counters.set(Self.trustedSince, to: Self.notYet)
        }
        try tables.counters.set(Self.consecutiveRejections, to: 0)
        if ledger.hasStreak { try tables.deadLetters.endStreak() }
    }

    /// What was rejected before this has expired; nil: nothing has. Many dead letters may have reached their age while a
    /// suspicion lasted, some of them for want of room in the queue: they are kept as long again, so that the operator has
    /// time to act.
    ///
    /// - Parameter trusted: taken for the end of the suspicion if it is the first since.
    private func expiry(at trusted: Timestamp?) throws(SQLiteError) -> Timestamp? {
        guard let trusted else { return nil }
        let expiry = trusted.advanced(bySeconds: -Self.lifetime)
        let since = try tables.counters.value(Self.trustedSince)
        guard since > trusted.milliseconds else { return since < expiry.milliseconds ? expiry : nil }
        try tables.counters.set(Self.trustedSince, to: trusted.milliseconds)
        return nil
    }

    private struct Expired {
        var locations = 0
        var events = 0
        var all: Int { locations + events }
    }

    private func expired(before expiry: Timestamp?) throws(SQLiteError) -> Expired {
        guard let expiry, ledger.rejected > 0 else { return Expired() }
        return Expired(
            locations: try tables.deadLetters.countExpired(.locations, before: expiry),
            events: try tables.deadLetters.countExpired(.events, before: expiry))
    }
}
