package import Base
internal import SQLite

/// The result of dissolving a batch that keeps failing because of its size.
package enum Rebatch: Equatable, Sendable {
    /// The rows of the batch are pending, and go into new batches.
    case dissolved(id: UUIDv7, locations: Int, events: Int)
    /// No batch is frozen.
    case nothingFrozen
    /// How many times it has failed in a row because of its size or its time; too few.
    case tooFew(failures: Int)
}

/// A batch that is too large for the link or the server never gets smaller by itself, and everything waits behind it.
/// The number of such failures in a row is kept in `counters`: only the next batch is ever tried, so one number and
/// the id of its batch are enough.
extension Writer {
    /// Failures in a row after which an administrator can have the batch dissolved.
    static let oversizedLimit = 3

    private func oversizedFailures(of batch: FrozenBatch) throws(SQLiteError) -> Int {
        let name = batch.destination
        guard try tables.counters.value(.oversizedBatch, of: name) == batch.id.tag else {
            return 0
        }
        return Int(clamping: min(max(try tables.counters.value(.oversizedFailures, of: name), 0), 1 << 32))
    }

    /// Records the start of an attempt. A permanent answer to an earlier one is no longer the latest, whatever the
    /// result of this one: if it is stored and its acknowledgement lost, its rows must not be sent in another batch.
    ///
    /// - Returns: false when the batch has been dissolved meanwhile; then it must not be sent.
    mutating func beginAttempt(_ batch: FrozenBatch) throws(SQLiteError) -> Bool {
        guard let known = ledger[batch.destination].queue.frozen.first(where: { $0.isOf(batch) }) else {
            return false
        }
        guard known.isPermanent else { return true }
        try tables.batches.set(batch, isPermanent: false)
        ledger[batch.destination].queue.set(batch, isPermanent: false)
        return true
    }

    /// Records that the batch has failed because of its size or its time.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal.
    /// - Returns: the number of such failures in a row.
    mutating func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(SQLiteError) -> Int {
        let (name, count) = (batch.destination, try oversizedFailures(of: batch) + 1)
        try db.transaction { () throws(SQLiteError) in
            try tables.counters.set(.oversizedBatch, of: name, to: batch.id.tag)
            try tables.counters.set(.oversizedFailures, of: name, to: Int64(count))
            if isPermanent { try tables.batches.set(batch, isPermanent: true) }
        }
        if isPermanent { ledger[name].queue.set(batch, isPermanent: true) }
        return count
    }

    /// Records that the batch got another answer, so its size is not the cause. Writes only if something is counted.
    func forgetOversized(_ batch: FrozenBatch) throws(SQLiteError) {
        guard try oversizedFailures(of: batch) > 0 else { return }
        try tables.counters.set(.oversizedFailures, of: batch.destination, to: 0)
    }

    /// Dissolves the next batch, if it has failed often enough.
    mutating func rebatch(for destination: DestinationName) throws(SQLiteError) -> Rebatch {
        guard let batch = try nextFrozen(for: destination) else { return .nothingFrozen }
        let failures = try oversizedFailures(of: batch)
        guard failures >= Self.oversizedLimit else { return .tooFew(failures: failures) }
        try db.transaction { () throws(SQLiteError) in
            try tables.batches.remove(batch)
            try tables.counters.set(.oversizedFailures, of: destination, to: 0)
        }
        ledger[destination].queue.remove(batch)
        return .dissolved(id: batch.id, locations: batch.locations, events: batch.events)
    }
}

extension UUIDv7 {
    /// Identifies a batch in a counter: the random part of its id.
    var tag: Int64 { bytes.suffix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) } }
}
