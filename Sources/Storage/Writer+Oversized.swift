package import Base
internal import SQLite

/// The result of dissolving a batch that keeps failing because of its size.
package enum Rebatch: Equatable, Sendable {
    /// Its rows are pending, and go into new batches.
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
    private static let oversizedCount = "oversized_failures"
    private static let oversizedBatch = "oversized_batch"

    /// Identifies the batch in a counter: the random part of its id.
    private static func name(of id: UUIDv7) -> Int64 {
        id.bytes.suffix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    private func oversizedFailures(of id: UUIDv7) throws(SQLiteError) -> Int {
        guard try counter(Self.oversizedBatch) == Self.name(of: id) else { return 0 }
        return Int(clamping: min(max(try counter(Self.oversizedCount), 0), 1 << 32))
    }

    /// Records the start of an attempt. A permanent answer to an earlier one is no longer the latest, whatever the
    /// result of this one: if it is stored and its acknowledgement lost, its rows must not be sent in another batch.
    ///
    /// - Returns: false when the batch has been dissolved meanwhile; then it must not be sent.
    mutating func beginAttempt(_ batch: FrozenBatch) throws(SQLiteError) -> Bool {
        guard let known = frozen.first(where: { $0.isOf(batch) }) else { return false }
        guard known.isPermanent else { return true }
        try db.prepare("UPDATE batches SET is_permanent = 0 WHERE key = ? AND id = ?").run(
            .integer(batch.key), .blob(batch.id.bytes))
        for index in frozen.indices where frozen[index].isOf(batch) { frozen[index].isPermanent = false }
        return true
    }

    /// Records that the batch has failed because of its size or its time.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal.
    /// - Returns: the number of such failures in a row.
    mutating func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(SQLiteError) -> Int {
        let count = try oversizedFailures(of: batch.id) + 1
        try db.transaction { () throws(SQLiteError) in
            try setCounter(Self.oversizedBatch, Self.name(of: batch.id))
            try setCounter(Self.oversizedCount, Int64(count))
            if isPermanent { try writePermanent(batch) }
        }
        if isPermanent { notePermanent(batch) }
        return count
    }

    /// Records that the batch got another answer, so its size is not the cause. Writes only if something is counted.
    func forgetOversized(_ batch: FrozenBatch) throws(SQLiteError) {
        guard try oversizedFailures(of: batch.id) > 0 else { return }
        try setCounter(Self.oversizedCount, 0)
    }

    /// Dissolves the next batch, if it has failed often enough.
    mutating func rebatch() throws(SQLiteError) -> Rebatch {
        guard let batch = try nextFrozen() else { return .nothingFrozen }
        let failures = try oversizedFailures(of: batch.id)
        guard failures >= Self.oversizedLimit else { return .tooFew(failures: failures) }
        try db.transaction { () throws(SQLiteError) in
            try releaseEvents(ofBatch: batch.key)
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            try setCounter(Self.oversizedCount, 0)
        }
        frozen.removeAll { $0.isOf(batch) }
        return .dissolved(id: batch.id, locations: batch.locations, events: batch.events)
    }
}

extension Store {
    /// Called before the first byte of an attempt. Commits only if the latest answer to the batch was permanent.
    ///
    /// - Returns: false when the batch has been dissolved meanwhile, by a deletion for example; then it must not be sent.
    @available(*, noasync, message: "blocks on the disk")
    package func beginAttempt(_ batch: FrozenBatch) throws(StorageError) -> Bool {
        try performAtAnyCost("begin attempt") { (writer) throws(SQLiteError) in
            try writer.beginAttempt(writer.known(batch))
        }
    }

    /// Records a 413, or a time-out after bytes were sent.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal; it is noted in the same transaction.
    /// - Returns: the number of such failures of the batch in a row.
    @available(*, noasync, message: "blocks on the disk")
    package func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(StorageError) -> Int {
        try performAtAnyCost("count failure") { (writer) throws(SQLiteError) in
            try writer.countOversized(writer.known(batch), isPermanent: isPermanent)
        }
    }

    /// Records any other answer to the batch.
    @available(*, noasync, message: "blocks on the disk")
    package func forgetOversized(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("forget failures") { (writer) throws(SQLiteError) in
            try writer.forgetOversized(batch)
        }
    }

    /// Dissolves the next batch if it has failed three times in a row because of its size or its time. Its rows may
    /// then arrive twice, under different batch ids.
    @available(*, noasync, message: "blocks on the disk")
    package func rebatch() throws(StorageError) -> Rebatch {
        try performAtAnyCost("dissolve batch") { (writer) throws(SQLiteError) in try writer.rebatch() }
    }
}
