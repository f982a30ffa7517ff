/// How many records of one kind there are, kept in step with the database so that neither the cap nor the status costs
/// more with 100,000 rows than with none.
struct Tally: Equatable, Sendable {
    private(set) var rows = 0
    private(set) var uploaded = 0
    /// Dead letters.
    private(set) var rejected = 0
    /// By session.
    private(set) var pending: [Int64: Int] = [:]
    /// No pending row lies before this one.
    var oldestPending: RowKey?
    /// The sequence number of the next row. Only ever grows.
    private(set) var nextSeq: Int64 = 1

    /// Begins with what a count of all rows found. Sequence numbers stay at least what they were: a deletion that is
    /// under way recognises later rows by them.
    mutating func reset(to counts: [SessionCount], rejected: Int, lastSeq: Int64) {
        self = Tally(counts: counts, rejected: rejected, nextSeq: nextSeq)
        for count in counts { pass(Bounded.seq(count.lastSeq)) }
        pass(Bounded.seq(lastSeq))
    }

    init() {}

    private init(counts: [SessionCount], rejected: Int, nextSeq: Int64) {
        (self.rejected, self.nextSeq) = (rejected, nextSeq)
        for count in counts {
            rows += count.rows
            uploaded += count.uploaded
            if count.rows > count.uploaded { pending[count.session] = count.rows - count.uploaded }
        }
    }

    /// Begins with what an earlier process counted.
    init(uploaded: Int, pending: [Int64: Int], oldestPending: RowKey?, nextSeq: Int64) {
        rows = uploaded + pending.values.reduce(0, +)
        self.uploaded = uploaded
        self.pending = pending
        self.oldestPending = oldestPending
        self.nextSeq = nextSeq
    }

    /// Numbers up to this one are in use.
    mutating func pass(_ seq: Int64) {
        nextSeq = max(nextSeq, seq + 1)
    }

    mutating func count(rejected count: Int) {
        rejected = count
    }

    // MARK: Changes

    /// A row has been added, or is pending again.
    mutating func add(_ key: RowKey, session: Int64) {
        rows += 1
        pending[session, default: 0] += 1
        oldestPending = min(oldestPending ?? key, key)
    }

    /// Rows have been deleted.
    ///
    /// - Returns: whether the oldest pending one is among them, so that the next is to be looked for.
    mutating func remove(_ removed: [RetainedRow]) -> Bool {
        var isOldestGone = false
        for row in removed {
            rows -= 1
            if row.isUploaded {
                uploaded -= 1
            } else {
                subtract(pending: 1, session: row.session)
                isOldestGone = isOldestGone || row.key == oldestPending
            }
        }
        return isOldestGone
    }

    /// Pending rows have been received.
    mutating func acknowledge(_ count: Int, session: Int64, areKept: Bool) {
        if areKept { uploaded += count } else { rows -= count }
        subtract(pending: count, session: session)
    }

    /// Pending rows have become dead letters.
    mutating func reject(_ count: Int, session: Int64) {
        rows -= count
        rejected += count
        subtract(pending: count, session: session)
    }

    /// Dead letters have left.
    mutating func remove(rejected count: Int) {
        rejected -= count
    }

    /// Uploaded rows are about to be added again, as pending ones.
    mutating func remove(uploaded count: Int) {
        rows -= count
        uploaded -= count
    }

    private mutating func subtract(pending count: Int, session: Int64) {
        let left = (pending[session] ?? 0) - count
        pending[session] = left > 0 ? left : nil
    }
}
