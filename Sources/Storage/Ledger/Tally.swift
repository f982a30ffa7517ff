/// How many records of one kind there are, kept in step with the database so that neither the cap nor the status costs
/// more with 100,000 rows than with none.
struct Tally: Equatable, Sendable {
    private(set) var rows = 0
    /// Kept although nobody is owed them any more.
    private(set) var uploaded = 0
    /// The sequence number of the next row. Only ever grows.
    private(set) var nextSeq: Int64 = 1

    init() {}

    /// Begins with what an earlier process counted.
    init(rows: Int, uploaded: Int, nextSeq: Int64) {
        (self.rows, self.uploaded, self.nextSeq) = (rows, uploaded, nextSeq)
    }

    /// Begins with what a count of all rows found. Sequence numbers stay at least what they were: a deletion that is
    /// under way recognises later rows by them.
    mutating func reset(to counts: [SessionCount], lastSeq: Int64) {
        self = Tally(
            rows: counts.reduce(0) { $0 + $1.rows }, uploaded: counts.reduce(0) { $0 + $1.uploaded },
            nextSeq: nextSeq)
        for count in counts { pass(Bounded.seq(count.lastSeq)) }
        pass(Bounded.seq(lastSeq))
    }

    /// Numbers up to this one are in use.
    mutating func pass(_ seq: Int64) {
        nextSeq = max(nextSeq, seq + 1)
    }

    mutating func added(_ count: Int = 1) {
        rows += count
    }

    mutating func removed(_ removed: [RetainedRow]) {
        rows -= removed.count
        uploaded -= removed.count { $0.isUploaded }
    }

    /// Counts rows that no destination is to get any more.
    mutating func paid(_ count: Int, areKept: Bool) {
        if areKept { uploaded += count } else { rows -= count }
    }

    /// Kept rows are owed again.
    mutating func returned(_ count: Int) {
        uploaded -= count
    }
}
