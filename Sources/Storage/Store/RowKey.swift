/// A location's place in the database: ordered by time, then by arrival.
package struct RowKey: Hashable, Comparable, Sendable {
    /// The time of the fix, Unix milliseconds.
    package var ts: Int64
    /// Counts up with each row that arrives.
    package var seq: Int64

    /// No row lies before this one.
    static let first = RowKey(ts: .min, seq: .min)

    /// No key lies between this one and that. The last of all is its own: a damaged file may hold it.
    var next: RowKey {
        if seq < .max { return RowKey(ts: ts, seq: seq + 1) }
        return ts < .max ? RowKey(ts: ts + 1, seq: .min) : self
    }

    /// Oldest first, as batches and history read them.
    package static func < (left: RowKey, right: RowKey) -> Bool {
        (left.ts, left.seq) < (right.ts, right.seq)
    }
}
