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
extension Refusals {
    private static let batch = [DestinationCounter.refusedBatchHigh, .refusedBatchLow]

    init(by name: DestinationName, in counters: borrowing Counters) throws(SQLiteError) {
        var bytes: [UInt8] = []
        for half in Self.batch {
            let value = UInt64(bitPattern: try counters.value(half, of: name))
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        silentCloses = Int(clamping: try counters.value(.silentCloses, of: name))
        guard bytes.contains(where: { $0 != 0 }) else { return }
        batch = UUIDv7(bytes: bytes)
        count = Int(clamping: try counters.value(.refusals, of: name))
    }

    /// Part of a transaction.
    func write(by name: DestinationName, to counters: borrowing Counters) throws(SQLiteError) {
        let bytes = batch?.bytes ?? Array(repeating: 0, count: 16)
        for (half, counter) in zip([bytes.prefix(8), bytes.suffix(8)], Self.batch) {
            let value = half.reduce(Int64(0)) { $0 << 8 | Int64($1) }
            try counters.set(counter, of: name, to: value)
        }
        try counters.set(.refusals, of: name, to: Int64(count))
        try counters.set(.silentCloses, of: name, to: Int64(silentCloses))
    }
}
