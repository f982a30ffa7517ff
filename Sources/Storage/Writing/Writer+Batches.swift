internal import Base
internal import SQLite

/// Frozen batches, from their bytes to what became of them.
extension Writer {
    /// Commits a batch: from here on it has these bytes and this id for ever.
    ///
    /// - Returns: nil when rows of the draft were deleted meanwhile; take a new draft.
    mutating func freeze(_ draft: BatchDraft, id: UUIDv7, _ request: StoredRequest) throws(SQLiteError)
        -> FrozenBatch?
    {
        guard try isComplete(draft, isUntouched: isUntouched(draft)) else { return nil }
        let key = try db.transaction { () throws(SQLiteError) in
            try tables.batches.insert(
                draft.members, to: draft.destination, id: id, request, isPiece: false)
        }
        frozen(draft, key: key)
        guard let new = ledger[draft.destination].queue.frozen.last else { return nil }
        return try read(new, of: draft.destination)
    }

    /// After COMMIT.
    private mutating func frozen(_ draft: BatchDraft, key: Int64) {
        ledger[draft.destination].queue.append(
            Ledger.Frozen(key: key, members: draft.members, isPermanent: false))
        ledger[draft.destination].queue.dropDraft()
    }

    /// The frozen batch that is to be sent next.
    func nextFrozen(for destination: DestinationName) throws(SQLiteError) -> FrozenBatch? {
        guard let next = ledger[destination].queue.frozen.first else { return nil }
        return try read(next, of: destination)
    }

    func read(_ batch: Ledger.Frozen, of destination: DestinationName) throws(SQLiteError) -> FrozenBatch? {
        guard let session = ledger.sessions.ids[batch.members.session] else { return nil }
        return try tables.batches.read(batch, of: destination, session: session)
    }

    /// The batch under the numbers of this database: another may have been moved aside while it was being sent.
    func known(_ batch: FrozenBatch) throws(SQLiteError) -> FrozenBatch {
        let frozen = ledger[batch.destination].queue.frozen
        if frozen.contains(where: { $0.isOf(batch) }) { return batch }
        guard let key = try tables.batches.key(of: batch.id),
            let found = frozen.first(where: { $0.key == key })
        else { return batch }
        return FrozenBatch(
            destination: batch.destination, id: batch.id, session: batch.session, request: batch.request,
            isPiece: batch.isPiece, key: found.key, members: found.members)
    }

    /// A complete 2xx: the backend has them now. Deletes the rows, or marks them, and forgets the batch, in one
    /// transaction.
    ///
    /// - Parameters:
    ///   - next: a batch that is frozen in the same transaction, unless rows of it were deleted meanwhile. Drafted after
    ///     this one.
    ///   - commands: what the server asked for in its answer, written down in the same transaction.
    /// - Returns: how many rows this acknowledged, fewer than were sent when the user deleted some meanwhile; and what has
    ///   become of the commands.
    mutating func acknowledge(
        _ batch: FrozenBatch, freezing next: (draft: BatchDraft, id: UUIDv7, request: StoredRequest)? = nil,
        journaling commands: CommandList? = nil
    ) throws(SQLiteError) -> (rows: Int, journaled: Journaling) {
        let mayFreeze = ledger[batch.destination].queue.isAlone(batch)
        let isNextUntouched = next.map { isUntouched($0.draft) } ?? false
        let (payment, key, journaled) = try db.transaction { () throws(SQLiteError) in
            let payment = try pay(batch, isAccepted: true)
            try tables.batches.remove(batch)
            try endStreak(of: batch.destination)
            let journaled = try write(commands)
            try writeTail()
            var key: Int64?
            if mayFreeze, let next, try isComplete(next.draft, isUntouched: isNextUntouched) {
                key = try tables.batches.insert(
                    next.draft.members, to: batch.destination, id: next.id, next.request, isPiece: false)
            }
            return (payment, key, journaled)
        }
        ledger[batch.destination].hasStreak = false
        if commands != nil { try countCommands() }
        try paid(batch, payment)
        if let next, let key { frozen(next.draft, key: key) }
        return (payment.rows, journaled)
    }

    /// Part of the transaction in which a destination gets, or refuses, the rows of a batch. Those that nobody else is
    /// owed leave, or are marked if they are to be kept and anybody has received them.
    func pay(_ batch: FrozenBatch, isAccepted: Bool) throws(SQLiteError) -> Payment {
        let members = batch.members
        let due = due(of: batch)
        var payment = Payment(owed: ledger[batch.destination].owed)
        guard ledger.hasDebts else {
            let keeps = isAccepted && options.keepsUploaded
            let left = try settle(members, due, keeps: keeps)
            (payment.locations, payment.events) = (left.locations, left.events)
            if keeps { payment.kept = left } else { payment.settled = left }
            return payment
        }
        payment.locations = try tables.locations.count(members, in: due.locations)
        payment.events = try tables.events.count(in: due.events)
        payment.owed.locations.subtract(due.locations)
        payment.owed.events.subtract(due.events)
        try tables.debts.change(batch.destination, from: ledger[batch.destination].owed, to: payment.owed)
        let others = ledger.owed(besides: batch.destination)
        let left = Backlog.Owed(
            locations: due.locations.subtracting(others.locations),
            events: due.events.subtracting(others.events))
        guard options.keepsUploaded else {
            payment.settled = try settle(members, left, keeps: false)
            return payment
        }
        let had = isAccepted ? .everything : ledger.settled(besides: batch.destination)
        payment.kept = try settle(members, left.intersection(had), keeps: true)
        payment.settled = try settle(members, left, keeps: false)
        return payment
    }

    /// What the destination is still owed of a batch: its answer may come twice, after a COMMIT that reported a failure.
    func due(of batch: FrozenBatch) -> Backlog.Owed {
        Backlog.Owed(locations: batch.members.seqs, events: batch.members.events)
            .intersection(ledger[batch.destination].owed)
    }

    private func settle(
        _ members: BatchMembers, _ due: Backlog.Owed, keeps: Bool
    ) throws(SQLiteError) -> Payment.Count {
        Payment.Count(
            locations: try tables.locations.settle(members, in: due.locations, keeps: keeps),
            events: try tables.events.settle(due.events, keeps: keeps))
    }

    /// After COMMIT.
    mutating func paid(_ batch: FrozenBatch, _ payment: Payment) throws(SQLiteError) {
        let name = batch.destination
        ledger.paid(batch, payment)
        if let from = ledger[name].locations.oldest ?? batch.members.first {
            try findOldestPending(of: name, from: from)
        }
        if payment.events > 0 { try countPendingEvents(of: name) }
    }

    /// Puts pieces in the place of a rejected batch, ahead of everything else.
    mutating func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, request: StoredRequest)]
    ) throws(SQLiteError) {
        for piece in pieces { guard try isComplete(piece.draft) else { return } }
        let keys = try db.transaction { () throws(SQLiteError) in
            try tables.batches.remove(batch)
            var keys: [Int64] = []
            for piece in pieces {
                keys.append(
                    try tables.batches.insert(
                        piece.draft.members, to: batch.destination, id: piece.id, piece.request, isPiece: true
                    ))
            }
            return keys
        }
        let frozen = zip(keys, pieces).map {
            Ledger.Frozen(key: $0, members: $1.draft.members, isPermanent: false)
        }
        let others = ledger[batch.destination].queue.frozen.filter { !$0.isOf(batch) }
        ledger[batch.destination].queue.replace(with: frozen + others)
    }

    /// Remembers that the latest answer was a permanent refusal.
    mutating func markPermanent(_ batch: FrozenBatch) throws(SQLiteError) {
        try tables.batches.set(batch, isPermanent: true)
        ledger[batch.destination].queue.set(batch, isPermanent: true)
    }

    /// Dissolves all batches of the destination when `format` is another than before.
    ///
    /// - Returns: how many there were.
    mutating func change(format: Int64, of destination: DestinationName) throws(SQLiteError) -> Int {
        guard try tables.counters.value(.format, of: destination) != format else { return 0 }
        let frozen = ledger[destination].queue.frozen
        try db.transaction { () throws(SQLiteError) in
            for batch in frozen { _ = try tables.batches.remove(key: batch.key) }
            try tables.counters.set(.format, of: destination, to: format)
            try Refusals().write(by: destination, to: tables.counters)
        }
        ledger[destination].queue.replace(with: [])
        return frozen.count
    }

    mutating func dissolve(_ batch: FrozenBatch) throws(SQLiteError) {
        try tables.batches.remove(batch)
        ledger[batch.destination].queue.remove(batch)
    }

    /// Dissolves batches whose latest answer was a permanent refusal when `endpoint` is another than before.
    ///
    /// - Parameter former: the same endpoint, as a version before has written it.
    mutating func change(
        endpoint: Int64, formerly former: Int64?, of destination: DestinationName
    ) throws(SQLiteError) {
        let known = try tables.counters.value(.endpoint, of: destination)
        guard known != endpoint else { return }
        guard known != former else {
            return try tables.counters.set(.endpoint, of: destination, to: endpoint)
        }
        let refused = ledger[destination].queue.frozen.filter(\.isPermanent)
        try db.transaction { () throws(SQLiteError) in
            for batch in refused { _ = try tables.batches.remove(key: batch.key) }
            try tables.counters.set(.endpoint, of: destination, to: endpoint)
            try Refusals().write(by: destination, to: tables.counters)
        }
        ledger[destination].queue.remove(where: \.isPermanent)
    }

    /// The batch behind the one that is frozen first, if it is frozen.
    func frozenBehind(_ batch: FrozenBatch) throws(SQLiteError) -> FrozenBatch? {
        let frozen = ledger[batch.destination].queue.frozen
        guard frozen.count > 1, frozen[0].isOf(batch) else { return nil }
        return try read(frozen[1], of: batch.destination)
    }

    /// Ends the debt of a destination that cannot be sent these rows: nobody else is affected.
    ///
    /// - Returns: how many there were, and how many of them nobody else is owed or has received.
    mutating func drop(_ draft: BatchDraft) throws(SQLiteError) -> (rows: Int, lost: Int) {
        let name = draft.destination
        let batch = FrozenBatch(
            destination: name, id: draft.session, session: draft.session, request: StoredRequest(body: []),
            isPiece: false, key: -1, members: draft.members)
        let (payment, lost) = try db.transaction { () throws(SQLiteError) in
            let payment = try pay(batch, isAccepted: false)
            var lost = LossAccount(all: Losses(dropped: payment.settled.locations + payment.settled.events))
            if ledger.hasDebts { lost.byName[name] = Losses(dropped: payment.rows) }
            try tables.counters.add(lost)
            try writeTail()
            return (payment, lost)
        }
        ledger.lost(lost)
        ledger[name].queue.dropDraft()
        try paid(batch, payment)
        return (payment.rows, lost.all.dropped)
    }
}
