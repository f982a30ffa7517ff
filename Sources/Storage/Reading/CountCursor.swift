package import Base
internal import SQLite

/// How many locations there are up to a time, counted one part after the other: each of its rows is such a part.
package struct CountCursor: HistoryCursor {
    /// The number of locations in a part, and of those that nobody has received.
    package typealias Row = (all: Int, unsent: Int)

    /// Rows of one part at most: a hundredth of a second on a small board.
    package static let pageLimit = 10_000

    private var last = RowKey(ts: .min, seq: .min)
    private let end: Int64
    /// What somebody has received, by number; nil before the first part.
    private var received: SeqSet?
    package private(set) var isAtEnd = false

    /// - Parameter end: inclusive; nil: all.
    package init(to end: Timestamp?) {
        self.end = end?.milliseconds ?? .max
    }

    package mutating func next(limit: Int, in history: borrowing History) throws(StorageError) -> [Row] {
        do throws(SQLiteError) {
            if received == nil { received = try Self.received(history.db) }
            let others = received ?? SeqSet()
            let rows = try history.db.prepare(
                """
                SELECT ts, seq, uploaded FROM locations WHERE (ts, seq) > (?, ?) AND ts <= ? ORDER BY ts, seq \
                LIMIT ?
                """)
            try rows.bind([
                .integer(last.ts), .integer(last.seq), .integer(end), .integer(Int64(limit)),
            ])
            var (all, unsent) = (0, 0)
            while try rows.step() {
                last = RowKey(ts: rows.integer(0), seq: rows.integer(1))
                all += 1
                if rows.integer(2) == 0, !others.contains(last.seq) { unsent += 1 }
            }
            isAtEnd = all < limit
            return [(all, unsent)]
        } catch {
            throw StorageError(error)
        }
    }

    /// Numbers of rows that one of several destinations has, and another is still owed.
    private static func received(_ db: Connection) throws(SQLiteError) -> SeqSet {
        try Debts(db).backlogs().reduce(into: SeqSet()) { received, backlog in
            received.formUnion(backlog.offered.locations.subtracting(backlog.owed.locations))
        }
    }
}
