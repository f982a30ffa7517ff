package import Base
internal import SQLite

extension History {
    /// How many locations there are up to a time, counted one part after the other.
    package struct CountCursor: Sendable {
        fileprivate var last = RowKey(ts: .min, seq: .min)
        fileprivate let end: Int64
        /// What somebody has received, by number; nil before the first part.
        fileprivate var received: SeqSet?
        /// All have been counted.
        package fileprivate(set) var isAtEnd = false

        /// - Parameter end: inclusive; nil: all.
        package init(to end: Timestamp?) {
            self.end = end?.milliseconds ?? .max
        }
    }

    /// Rows of one part at most: a hundredth of a second on a small board.
    package static let countLimit = 10_000

    /// The number of the next locations, at most `countLimit`, and of those that nobody has received.
    @available(*, noasync, message: "blocks on the disk")
    package func count(_ cursor: inout CountCursor) throws(StorageError) -> (all: Int, unsent: Int) {
        do throws(SQLiteError) {
            if cursor.received == nil { cursor.received = try received() }
            let received = cursor.received ?? SeqSet()
            let rows = try statements.db.prepare(
                """
                SELECT ts, seq, uploaded FROM locations WHERE (ts, seq) > (?, ?) AND ts <= ? ORDER BY ts, seq \
                LIMIT \(Self.countLimit)
                """)
            try rows.bind([
                .integer(cursor.last.ts), .integer(cursor.last.seq), .integer(cursor.end),
            ])
            var (all, unsent) = (0, 0)
            while try rows.step() {
                cursor.last = RowKey(ts: rows.integer(0), seq: rows.integer(1))
                all += 1
                if rows.integer(2) == 0, !received.contains(cursor.last.seq) { unsent += 1 }
            }
            cursor.isAtEnd = all < Self.countLimit
            return (all, unsent)
        } catch {
            throw StorageError(error)
        }
    }

    /// Numbers of rows that one of several destinations has, and another is still owed.
    private func received() throws(SQLiteError) -> SeqSet {
        try Debts(statements.db).backlogs().reduce(into: SeqSet()) { received, backlog in
            received.formUnion(backlog.offered.locations.subtracting(backlog.owed.locations))
        }
    }
}
