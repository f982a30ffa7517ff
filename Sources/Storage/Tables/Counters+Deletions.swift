internal import Base
internal import SQLite

/// Deletions that have begun. Recorded before the first step, and removed after the last, so that one that is
/// interrupted is completed at the next start.
extension Counters {
    /// Requests that are remembered at most.
    static let deletionLimit = 8

    private static let mark = "erasing"
    private static let cutoff = "erasing_before"
    private static let seq = "erasing_seq"
    private static let eventSeq = "erasing_event_seq"
    /// Values of `mark`; 0: nothing is being deleted.
    private static let everything: Int64 = 1
    private static let upToTime: Int64 = 2

    private static func suffix(_ index: Int) -> String { index == 0 ? "" : "_\(index + 1)" }

    /// Whether some deletion is not completed.
    var isErasing: Bool {
        get throws(SQLiteError) { try value(Self.mark) != 0 }
    }

    func deletions() throws(SQLiteError) -> [Deletion.Bounds] {
        try Self.deletions { (name) throws(SQLiteError) in try value(name) }
    }

    static func deletions<Failure>(_ counter: Reading<Failure>) throws(Failure) -> [Deletion.Bounds] {
        var found: [Deletion.Bounds] = []
        while found.count < deletionLimit {
            let suffix = suffix(found.count)
            let mark = try counter(Self.mark + suffix)
            guard mark == everything || mark == upToTime else { break }
            found.append(
                Deletion.Bounds(
                    cutoff: mark == everything
                        ? nil : Timestamp(milliseconds: try counter(cutoff + suffix)),
                    maxSeq: try counter(seq + suffix), maxEventSeq: try counter(eventSeq + suffix)))
        }
        return found
    }

    func set(deletions: [Deletion.Bounds]) throws(SQLiteError) {
        for (index, one) in deletions.enumerated() {
            let suffix = Self.suffix(index)
            try set(Self.mark + suffix, to: one.cutoff == nil ? Self.everything : Self.upToTime)
            try set(Self.cutoff + suffix, to: one.cutoff?.milliseconds ?? 0)
            try set(Self.seq + suffix, to: one.maxSeq)
            try set(Self.eventSeq + suffix, to: one.maxEventSeq)
        }
        guard deletions.count < Self.deletionLimit else { return }
        try set(Self.mark + Self.suffix(deletions.count), to: 0)
    }
}
