package import Base
internal import SQLite

/// What a destination of a foreign format has made of what it got lately. Kept, because a vehicle may be powered for no more
/// than an attempt or two at a time.
package struct Refusals: Equatable, Sendable {
    /// The batch with the oldest row, if that was refused for good; nil: it was not.
    package var batch: UUIDv7?
    /// Scheduled runs on which it was.
    package var count = 0
    /// Connections in a row that were closed without an answer after the request had been sent.
    package var silentCloses = 0

    /// No refusals.
    package init() {}
}

/// One destination is told from the next by the names of the counters. Nothing is written while all is accepted.
extension Writer {
    private static let batch = [DestinationCounter.refusedBatchHigh, .refusedBatchLow]

    func refusals(by name: DestinationName) throws(SQLiteError) -> Refusals {
        var bytes: [UInt8] = []
        for half in Self.batch {
            let value = UInt64(bitPattern: try tables.counters.value(half, of: name))
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        var found = Refusals()
        found.batch = UUIDv7(bytes: bytes)
        found.count = Int(clamping: try tables.counters.value(.refusals, of: name))
        found.silentCloses = Int(clamping: try tables.counters.value(.silentCloses, of: name))
        if bytes.allSatisfy({ $0 == 0 }) { (found.batch, found.count) = (nil, 0) }
        return found
    }

    func set(_ refusals: Refusals, by name: DestinationName) throws(SQLiteError) {
        let bytes = refusals.batch?.bytes ?? Array(repeating: 0, count: 16)
        try db.transaction { () throws(SQLiteError) in
            for (half, counter) in zip([bytes.prefix(8), bytes.suffix(8)], Self.batch) {
                let value = half.reduce(Int64(0)) { $0 << 8 | Int64($1) }
                try tables.counters.set(counter, of: name, to: value)
            }
            try tables.counters.set(.refusals, of: name, to: Int64(refusals.count))
            try tables.counters.set(.silentCloses, of: name, to: Int64(refusals.silentCloses))
        }
    }

    /// Part of a transaction.
    func forgetRefusals(by name: DestinationName) throws(SQLiteError) {
        for counter in Self.batch + [.refusals, .silentCloses] {
            try tables.counters.set(counter, of: name, to: 0)
        }
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
