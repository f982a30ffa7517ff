internal import Base
internal import SQLite

/// Frozen batches, from their bytes to what became of them.
extension Writer {
    /// Commits a batch: from here on it has these bytes and this id for ever.
    ///
    /// - Returns: nil when rows of the draft were deleted meanwhile; take a new draft.
    mutating func freeze(_ draft: BatchDraft, id: UUIDv7, body: [UInt8]) throws(SQLiteError) -> FrozenBatch? {
        guard try isComplete(draft, isUntouched: isUntouched(draft)) else { return nil }
        let key = try db.transaction { () throws(SQLiteError) in
            try insertBatch(draft, id: id, body: body, isPiece: false)
        }
        ledger.queue.append(Ledger.Frozen(key: key, members: draft.members, isPermanent: false))
        ledger.queue.dropDraft()
        return try nextFrozen()
    }

    /// Part of a transaction.
    ///
    /// - Returns: the batch's key.
    private func insertBatch(
        _ draft: BatchDraft, id: UUIDv7, body: [UInt8], isPiece: Bool
    ) throws(SQLiteError) -> Int64 {
        let key = try tables.batches.insert(draft.members, id: id, body: body, isPiece: isPiece)
        try tables.events.assign(draft.eventKeys, toBatch: key)
        return key
    }

    /// The frozen batch that is to be sent next.
    func nextFrozen() throws(SQLiteError) -> FrozenBatch? {
        guard let next = ledger.queue.frozen.first, let session = ledger.sessions.ids[next.members.session]
        else { return nil }
        return try tables.batches.read(next, session: session)
    }

    /// The batch under the numbers of this database: another may have been put aside while it was being sent.
    func known(_ batch: FrozenBatch) throws(SQLiteError) -> FrozenBatch {
        let frozen = ledger.queue.frozen
        if frozen.contains(where: { $0.isOf(batch) }) { return batch }
        guard let key = try tables.batches.key(of: batch.id),
            let found = frozen.first(where: { $0.key == key })
        else { return batch }
        return FrozenBatch(
            id: batch.id, session: batch.session, locations: batch.locations, events: batch.events,
            body: batch.body, isPiece: batch.isPiece, key: found.key, members: found.members)
    }

    /// A complete 2xx: the backend has them now. Deletes the rows, or marks them, and forgets the batch, in one
    /// transaction.
    ///
    /// - Parameter next: a batch that is frozen in the same transaction, unless rows of it were deleted meanwhile. Drafted
    ///   after this one.
    /// - Returns: how many rows this acknowledged; fewer than were sent when the user deleted some meanwhile.
    mutating func acknowledge(
        _ batch: FrozenBatch, freezing next: (draft: BatchDraft, id: UUIDv7, body: [UInt8])? = nil
    ) throws(SQLiteError) -> Int {
        let keeps = options.keepsUploaded
        let mayFreeze = ledger.queue.isAlone(batch)
        let isNextUntouched = next.map { isUntouched($0.draft) } ?? false
        let (count, eventCount, key) = try db.transaction { () throws(SQLiteError) in
            let count = try tables.locations.acknowledge(batch.members, keeps: keeps)
            let eventCount = try tables.events.acknowledge(batch, keeps: keeps)
            try tables.batches.remove(batch)
            try endStreak()
            try writeTail()
            var key: Int64?
            if mayFreeze, let next, try isComplete(next.draft, isUntouched: isNextUntouched) {
                key = try insertBatch(next.draft, id: next.id, body: next.body, isPiece: false)
            }
            return (count, eventCount, key)
        }
        ledger.hasStreak = false
        ledger.acknowledged(batch, locations: count, areKept: keeps)
        if let next, let key {
            ledger.queue.append(Ledger.Frozen(key: key, members: next.draft.members, isPermanent: false))
            ledger.queue.dropDraft()
        }
        try findOldestPending(from: ledger.locations.oldestPending ?? batch.members.first)
        if eventCount > 0 {
            ledger.events.acknowledge(eventCount, session: batch.members.session, areKept: keeps)
            try findOldestPendingEvent()
        }
        return count + eventCount
    }

    /// Puts pieces in the place of a rejected batch, ahead of everything else.
    mutating func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])]
    ) throws(SQLiteError) {
        for piece in pieces { guard try isComplete(piece.draft) else { return } }
        let keys = try db.transaction { () throws(SQLiteError) in
            try tables.batches.remove(batch)
            var keys: [Int64] = []
            for piece in pieces {
                keys.append(try insertBatch(piece.draft, id: piece.id, body: piece.body, isPiece: true))
            }
            return keys
        }
        let frozen = zip(keys, pieces).map {
            Ledger.Frozen(key: $0, members: $1.draft.members, isPermanent: false)
        }
        ledger.queue.replace(with: frozen + ledger.queue.frozen.filter { !$0.isOf(batch) })
    }

    /// Remembers that the latest answer was a permanent refusal.
    mutating func markPermanent(_ batch: FrozenBatch) throws(SQLiteError) {
        try tables.batches.set(batch, isPermanent: true)
        ledger.queue.set(batch, isPermanent: true)
    }

    /// Dissolves batches whose latest answer was a permanent refusal when `endpoint` is another than before.
    mutating func change(endpoint: Int64) throws(SQLiteError) {
        guard try tables.counters.value(Counters.endpoint) != endpoint else { return }
        let refused = ledger.queue.frozen.filter(\.isPermanent)
        try db.transaction { () throws(SQLiteError) in
            for batch in refused { try tables.events.release(fromBatch: batch.key) }
            try tables.batches.removePermanent()
            try tables.counters.set(Counters.endpoint, to: endpoint)
        }
        ledger.queue.remove(where: \.isPermanent)
    }
}
