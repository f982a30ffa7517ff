internal import Base
internal import SQLite

/// Consecutive rejections: up to a limit the data is suspected, and beyond it the endpoint.
///
/// A *streak* is everything that became a dead letter since the latest acknowledgement. It is recorded batch by
/// batch, in the transaction of the rejection: a server that rejects everything may be noticed only days and restarts
/// later.
extension Writer {
    /// How many batches in a row may be rejected before the endpoint is suspected instead of the data.
    static let suspicionLimit: Int64 = 3
    /// In the place of the time at which a suspicion ended.
    private static let notYet = Int64.max
    /// Seconds that dead letters are kept.
    private static let lifetime = 7.0 * 86_400

    /// A damaged file may hold any number.
    private func consecutiveRejections(by destination: DestinationName) throws(SQLiteError) -> Int64 {
        let count = try tables.counters.value(.consecutiveRejections, of: destination)
        return min(max(count, 0), Self.suspicionLimit)
    }

    /// Counts a rejection, unless it is of a piece, and returns whether the endpoint is now suspected.
    mutating func countRejection(of batch: FrozenBatch) throws(SQLiteError) -> Bool {
        let before = try consecutiveRejections(by: batch.destination)
        let consecutive = try before + increment(for: batch)
        if isSuspected(batch, before: before, consecutive) {
            try suspect(batch.destination, after: consecutive)
            return true
        }
        try db.transaction { () throws(SQLiteError) in try note(consecutive, for: batch) }
        return false
    }

    /// What a rejection adds to the count. The same batch may be rejected again before it has been split, or after a COMMIT
    /// that was said to have failed: that is one rejection.
    private func increment(for batch: FrozenBatch) throws(SQLiteError) -> Int64 {
        if batch.isPiece { return 0 }
        return try tables.counters.value(.rejectedBatch, of: batch.destination) == batch.id.tag ? 0 : 1
    }

    /// Part of a transaction.
    private func note(_ consecutive: Int64, for batch: FrozenBatch) throws(SQLiteError) {
        try tables.counters.set(.consecutiveRejections, of: batch.destination, to: consecutive)
        guard !batch.isPiece else { return }
        try tables.counters.set(.rejectedBatch, of: batch.destination, to: batch.id.tag)
    }

    /// Handles a 400 or 422: the rows become dead letters, unless the endpoint is suspected instead. A full table of
    /// dead letters evicts nothing: the batch waits for room, and is not counted until there is some.
    ///
    /// - Parameters:
    ///   - trusted: the time by which dead letters grow old; nil when no clock can be trusted.
    ///   - isProbed: its row is known to be at fault, and the endpoint is not: it is not counted.
    mutating func reject(
        _ batch: FrozenBatch, because refusal: Refusal, trusted: Timestamp?, isProbed: Bool
    ) throws(SQLiteError) -> Rejection {
        let name = batch.destination
        let before = try consecutiveRejections(by: name)
        let consecutive = isProbed ? before : try before + increment(for: batch)
        // While the server is at fault, no dead letter expires.
        guard isProbed || !isSuspected(batch, before: before, consecutive) else {
            try suspect(name, after: consecutive)
            return .suspected
        }
        let expiry = try expiry(of: name, at: trusted)
        let expired = try expired(of: name, before: expiry)
        guard ledger[name].rejected - expired.all + batch.rows <= DeadLetters.limit else { return .full }
        var lost = LossAccount(all: Losses(expired: expired.all))
        if ledger.hasDebts { lost.byName[name] = lost.all }
        let payment = try db.transaction { () throws(SQLiteError) in
            if let expiry, expired.all > 0 {
                try tables.deadLetters.removeExpired(of: name, before: expiry)
                try tables.counters.add(lost)
            }
            try tables.deadLetters.insert(batch, due: due(of: batch), because: refusal)
            let payment = try pay(batch, isAccepted: false)
            try tables.batches.remove(batch)
            if isProbed {
                try Refusals().write(by: name, to: tables.counters)
            } else {
                try note(consecutive, for: batch)
                try tables.deadLetters.addToStreak(batch)
            }
            try writeTail()
            return payment
        }
        if !isProbed { ledger[name].hasStreak = true }
        ledger[name].locations.rejected += payment.locations - expired.locations
        ledger[name].events.rejected += payment.events - expired.events
        ledger.lost(lost)
        try paid(batch, payment)
        return .deadLettered(payment.rows)
    }

    /// Pieces of an isolation do not raise a suspicion; but while there is one nothing is sent, pieces included.
    private func isSuspected(_ batch: FrozenBatch, before: Int64, _ consecutive: Int64) -> Bool {
        before >= Self.suspicionLimit || !batch.isPiece && consecutive >= Self.suspicionLimit
    }

    /// The batch stays frozen as the probe, and the dead letters of the streak are pending again, as many as there is
    /// room for; the others follow with the next probe when there is room, or when a deletion under way is completed.
    private mutating func suspect(_ name: DestinationName, after consecutive: Int64) throws(SQLiteError) {
        // A deletion under way might already have passed their places.
        let room = try room(for: tables.counters.isErasing ? 0 : countInStreak(.locations, of: name))
        let eventRoom = try eventRoom(for: countInStreak(.events, of: name))
        let letters = try tables.deadLetters.first(
            .locations, of: name, where: DeadLetters.isInStreak, limit: room.count)
        let eventLetters = try tables.deadLetters.first(
            .events, of: name, where: DeadLetters.isInStreak, limit: eventRoom.count)
        let (rows, events) = try db.transaction { () throws(SQLiteError) in
            try tables.counters.set(
                .consecutiveRejections, of: name, to: max(consecutive, Self.suspicionLimit))
            try tables.locations.remove(room.doomed)
            try tables.events.remove(eventRoom.doomed)
            return (
                try requeue(letters, .locations, of: name), try requeue(eventLetters, .events, of: name)
            )
        }
        try removed(room.doomed)
        try removed(events: eventRoom.doomed)
        requeued(rows, of: name)
        try requeued(events: events, of: name)
    }

    /// The number of dead letters of the streak.
    private func countInStreak(_ kind: RecordKind, of name: DestinationName) throws(SQLiteError) -> Int {
        guard ledger[name].hasStreak, ledger[name].rejected > 0 else { return 0 }
        return try tables.deadLetters.countInStreak(kind, of: name)
    }

    /// Forgets the rejections by a destination that is forgotten.
    func forgetRejections(by name: DestinationName) throws(SQLiteError) {
        for counter in [DestinationCounter.consecutiveRejections, .suspicionEnded, .rejectedBatch] {
            try tables.counters.set(counter, of: name, to: 0)
        }
        try Refusals().write(by: name, to: tables.counters)
    }

    /// Part of the transaction of an acknowledgement: the server accepts what it is sent.
    func endStreak(of name: DestinationName) throws(SQLiteError) {
        if try tables.counters.value(.consecutiveRejections, of: name) >= Self.suspicionLimit {
            try tables.counters.set(.suspicionEnded, of: name, to: Self.notYet)
        }
        try tables.counters.set(.consecutiveRejections, of: name, to: 0)
        if ledger[name].hasStreak { try tables.deadLetters.endStreak(of: name) }
    }

    /// What was rejected before this has expired; nil: nothing has. Many dead letters may have reached their age while a
    /// suspicion lasted, some of them for want of room in the queue: they are kept as long again, so that the operator has
    /// time to act.
    ///
    /// - Parameter trusted: taken for the end of the suspicion if it is the first since.
    private func expiry(of name: DestinationName, at trusted: Timestamp?) throws(SQLiteError) -> Timestamp? {
        guard let trusted else { return nil }
        let expiry = trusted.advanced(bySeconds: -Self.lifetime)
        let since = try tables.counters.value(.suspicionEnded, of: name)
        guard since > trusted.milliseconds else { return since < expiry.milliseconds ? expiry : nil }
        try tables.counters.set(.suspicionEnded, of: name, to: trusted.milliseconds)
        return nil
    }

    private struct Expired {
        var locations = 0
        var events = 0
        var all: Int { locations + events }
    }

    private func expired(of name: DestinationName, before expiry: Timestamp?) throws(SQLiteError) -> Expired {
        guard let expiry, ledger[name].rejected > 0 else { return Expired() }
        return Expired(
            locations: try tables.deadLetters.countExpired(.locations, of: name, before: expiry),
            events: try tables.deadLetters.countExpired(.events, of: name, before: expiry))
    }
}
