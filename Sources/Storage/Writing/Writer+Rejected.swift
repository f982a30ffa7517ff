internal import SQLite

/// Dead letters on their way back into the queue, or out of the database, in steps of at most 1,000 rows so that fixes go
/// on being written.
package struct RejectedWork: Sendable {
    /// What happens to them.
    package enum Act: Sendable {
        /// They are pending again, under their own ids, and go into new batches.
        case requeue
        /// They are deleted and overwritten.
        case purge
    }

    let act: Act
    /// No more than there were when it began: those that come meanwhile are the last in the order of rejection.
    var left: Int
    /// Rows dealt with so far.
    package internal(set) var done = 0

    /// Nothing is left to do.
    package var isFinished: Bool { left == 0 }
}

extension Writer {
    static let lowestSeq = "lowest_seq"
    private static let rejectedStep = 1000

    struct DeadLetter {
        var rejectedAt: Int64
        var seq: Int64
        var ts: Int64
        var session: Int64
    }

    /// One step. Re-queueing ends when the row cap leaves no room: what comes back must not push out what is there.
    mutating func proceed(with work: inout RejectedWork) throws(SQLiteError) {
        var limit = min(work.left, Self.rejectedStep, tally.rejected)
        var doomed: [Prunable] = []
        if work.act == .requeue { (limit, doomed) = try room(for: limit) }
        let letters = try deadLetters(limit: limit)
        guard let last = letters.last else {
            // Locations first, then events; what has no room stays.
            return try proceedWithEvents(&work)
        }
        switch work.act {
        case .requeue:
            try db.transaction { () throws(SQLiteError) in
                try delete(doomed)
                try moveBack(letters)
            }
            try book(doomed)
            bookBack(letters)
        case .purge:
            try purge(upTo: last)
            tally.rejected -= letters.count
        }
        work.done += letters.count
        work.left -= letters.count
    }

    /// The first `count` that match the rule, in the order of their rejection.
    func deadLetters(where rule: String = "1", limit: Int) throws(SQLiteError) -> [DeadLetter] {
        guard limit > 0 else { return [] }
        let rows = try db.prepare(
            "SELECT rejected_at, seq, ts, session FROM rejected WHERE \(rule) ORDER BY rejected_at, seq LIMIT ?"
        )
        try rows.bind([.integer(Int64(limit))])
        var letters: [DeadLetter] = []
        while try rows.step() {
            letters.append(
                DeadLetter(
                    rejectedAt: rows.integer(0), seq: rows.integer(1), ts: rows.integer(2),
                    session: rows.integer(3)))
        }
        return letters
    }

    /// Part of a transaction; `bookBack` follows. The rows get new sequence numbers, lower than any given before:
    /// none may join a batch that is already frozen and be acknowledged with it unsent, nor be taken for the newest
    /// of its session.
    func moveBack(_ letters: [DeadLetter]) throws(SQLiteError) {
        guard !letters.isEmpty else { return }
        let lowest = tally.lowestSeq
        let columns = Schema.columns.split(separator: ", ").map { $0 == "seq" ? "?3" : String($0) }
        let move = try db.prepare(
            """
            INSERT INTO locations (\(Schema.columns)) \
            SELECT \(columns.joined(separator: ", ")) FROM rejected WHERE rejected_at = ?1 AND seq = ?2
            """)
        let delete = try db.prepare("DELETE FROM rejected WHERE rejected_at = ? AND seq = ?")
        for (index, letter) in letters.enumerated() {
            try move.run(
                .integer(letter.rejectedAt), .integer(letter.seq), .integer(lowest - 1 - Int64(index)))
            try delete.run(.integer(letter.rejectedAt), .integer(letter.seq))
        }
        try setCounter(Self.lowestSeq, lowest - Int64(letters.count))
    }

    mutating func bookBack(_ letters: [DeadLetter]) {
        let lowest = tally.lowestSeq
        tally.lowestSeq = lowest - Int64(letters.count)
        tally.rejected -= letters.count
        for (index, letter) in letters.enumerated() {
            add(pending: RowKey(ts: letter.ts, seq: lowest - 1 - Int64(index)), ofSession: letter.session)
        }
    }

    private func purge(upTo last: DeadLetter) throws(SQLiteError) {
        // What the user deletes is overwritten with zeros, not only unlinked.
        try db.execute("PRAGMA secure_delete = ON")
        defer { try? db.execute("PRAGMA secure_delete = OFF") }
        try db.transaction { () throws(SQLiteError) in try deleteRejected(upTo: last) }
    }

    private func deleteRejected(upTo last: DeadLetter) throws(SQLiteError) {
        try db.prepare("DELETE FROM rejected WHERE (rejected_at, seq) <= (?, ?)").run(
            .integer(last.rejectedAt), .integer(last.seq))
    }
}

extension Store {
    /// Starts to re-queue, or to delete, the dead letters that are there now.
    @available(*, noasync, message: "blocks on the disk")
    package func begin(_ act: RejectedWork.Act) throws(StorageError) -> RejectedWork {
        try perform("read dead letters") { (writer) throws(SQLiteError) in
            RejectedWork(act: act, left: writer.rejectedCount)
        }
    }

    /// One step of at most 1,000 rows, in one transaction.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with work: inout RejectedWork) throws(StorageError) {
        work = try performAtAnyCost("move dead letters") { [work] (writer) throws(SQLiteError) in
            var work = work
            try writer.proceed(with: &work)
            return work
        }
    }
}
