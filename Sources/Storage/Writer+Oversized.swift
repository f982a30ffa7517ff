internal import SQLite
public import Tracking

/// Whether a batch that does not get through for its size has been dissolved.
public enum Rebatch: Equatable, Sendable {
    /// Its rows are pending, and go into new batches.
    case dissolved(id: UUIDv7, locations: Int, events: Int)
    /// No batch is frozen.
    case nothingFrozen
    /// It has failed for its size or its time only so many times in a row.
    case tooFew(failures: Int)
}

/// A batch that is too large for the link or the server never gets smaller by itself, and everything waits behind it. How
/// often it has failed for that in a row is kept in `counters`: only the batch that goes next is ever tried, so one number
/// and the name of the batch that it belongs to are enough.
extension Writer {
    /// Failures in a row after which an administrator may have the batch dissolved.
    static let oversizedLimit = 3
    private static let oversizedCount = "oversized_failures"
    private static let oversizedBatch = "oversized_batch"

    /// What tells one batch from another in a counter: the random part of its id.
    private static func name(of id: UUIDv7) -> Int64 {
        id.bytes.suffix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    private func oversizedFailures(of id: UUIDv7) throws(SQLiteError) -> Int {
        guard try counter(Self.oversizedBatch) == Self.name(of: id) else { return 0 }
        return Int(clamping: try counter(Self.oversizedCount))
    }

    /// An attempt begins. A permanent answer that came to an earlier one is not the latest any more, whatever becomes of
    /// this one: were it to be stored and its acknowledgement lost, its rows must not go out in another batch.
    mutating func beginAttempt(_ batch: FrozenBatch) throws(SQLiteError) {
        guard frozen.contains(where: { $0.isOf(batch) && $0.isPermanent }) else { return }
        try db.prepare("UPDATE batches SET is_permanent = 0 WHERE key = ? AND id = ?").run(
            .integer(batch.key), .blob(batch.id.bytes))
        for index in frozen.indices where frozen[index].isOf(batch) { frozen[index].isPermanent = false }
    }

    /// The batch has failed for its size or its time.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal.
    /// - Returns: how many times in a row.
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

    /// The batch has got another answer: what it failed for is not its size. Writes only when something is counted.
    func forgetOversized(_ batch: FrozenBatch) throws(SQLiteError) {
        guard try oversizedFailures(of: batch.id) > 0 else { return }
        try setCounter(Self.oversizedCount, 0)
    }

    /// Dissolves the batch that goes next, if it has failed often enough.
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
    /// Called before the first byte of an attempt. Commits only when the latest answer to the batch was permanent.
    @available(*, noasync, message: "blocks on the disk")
    public func beginAttempt(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("begin attempt") { (writer) throws(SQLiteError) in
            try writer.beginAttempt(batch)
        }
    }

    /// A 413, or a time-out after bytes were sent.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal; it is noted in the same transaction.
    /// - Returns: how many times in a row the batch has failed so.
    @available(*, noasync, message: "blocks on the disk")
    public func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(StorageError) -> Int {
        try performAtAnyCost("count failure") { (writer) throws(SQLiteError) in
            try writer.countOversized(batch, isPermanent: isPermanent)
        }
    }

    /// Another answer than those has come to the batch.
    @available(*, noasync, message: "blocks on the disk")
    public func forgetOversized(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("forget failures") { (writer) throws(SQLiteError) in
            try writer.forgetOversized(batch)
        }
    }

    /// Dissolves the batch that goes next when it has failed three times in a row for its size or its time. Its rows may
    /// then arrive twice, under other batch ids.
    @available(*, noasync, message: "blocks on the disk")
    public func rebatch() throws(StorageError) -> Rebatch {
        try performAtAnyCost("dissolve batch") { (writer) throws(SQLiteError) in try writer.rebatch() }
    }
}
