internal import SQLite

/// A kind of record that is stored, uploaded and deleted. A new one is another entry in `all`.
///
/// What refers to sessions and extras is found by its columns instead (`Schema.tables(naming:)`), so that nothing that
/// is referred to is ever forgotten because of a list.
struct RecordKind: Sendable {
    /// The table of the records, with the columns `ts`, `seq`, `session` and `uploaded`.
    let table: Table
    /// The table of those that became dead letters.
    let rejected: Table
    /// In the column `kind` of the debts. Append only.
    let code: Int64
    /// The last sequence number that a deletion covers.
    let maxSeq: @Sendable (Deletion.Bounds) -> Int64

    struct Table: Sendable, CustomStringConvertible {
        let name: String
        /// The columns of its key.
        let key: String

        var description: String { name }
    }

    static let locations = RecordKind(
        table: Table(name: "locations", key: "ts, seq"), rejected: .rejected("rejected"), code: 0,
        maxSeq: \.maxSeq)
    /// Not all of them have a time yet.
    static let events = RecordKind(
        table: Table(name: "events", key: "seq"), rejected: .rejected("rejected_events"), code: 1,
        maxSeq: \.maxEventSeq)

    /// In the order in which they are read, deleted and re-queued.
    static let all = [locations, events]

    /// Counts all of them.
    func counts(_ db: Connection) throws(SQLiteError) -> [SessionCount] {
        let groups = try db.prepare(
            "SELECT session, COUNT(*), SUM(uploaded <> 0), MAX(seq) FROM \(table) GROUP BY session")
        var counts: [SessionCount] = []
        while try groups.step() {
            counts.append(
                SessionCount(
                    session: groups.integer(0), rows: Int(groups.integer(1)),
                    uploaded: Int(groups.integer(2)),
                    lastSeq: groups.integer(3)))
        }
        return counts
    }

    /// Number of rows in a page, which a step may change without keeping fixes waiting.
    private static let pageLimit = 1000
    /// Number of rows that one page examines: those that are wanted may be few among many.
    private static let searchLimit = 10_000

    /// One page in the order of time: the next rows after `key` that are wanted. Not among them is what nobody was ever to
    /// get.
    ///
    /// - Parameter isWanted: by its key, and whether it is kept though nobody is owed it.
    /// - Returns: the rows, and where to continue; nil at the end of the range.
    func page(
        _ db: Connection, after key: RowKey, to: Int64, where isWanted: (RowKey, Bool) -> Bool
    ) throws(SQLiteError) -> (rows: [DeadLetters.Returned], next: RowKey?) {
        let rows = try db.prepare(
            """
            SELECT ts, seq, session, uploaded FROM \(table) WHERE (ts, seq) > (?, ?) AND ts <= ? \
            AND uploaded < \(EventRow.Custody.local.rawValue) ORDER BY ts, seq LIMIT \(Self.searchLimit)
            """)
        try rows.bind([.integer(key.ts), .integer(key.seq), .integer(to)])
        var found: [DeadLetters.Returned] = []
        var last: RowKey?
        var looked = 0
        while found.count < Self.pageLimit, try rows.step() {
            let key = RowKey(ts: rows.integer(0), seq: rows.integer(1))
            let isKept = rows.integer(3) != 0
            if isWanted(key, isKept) {
                found.append(.init(key: key, session: rows.integer(2), wasKept: isKept))
            }
            last = key
            looked += 1
        }
        let isAll = found.count < Self.pageLimit && looked < Self.searchLimit
        return (found, isAll ? nil : last)
    }
}

extension RecordKind.Table {
    fileprivate static func rejected(_ name: String) -> Self {
        Self(name: name, key: "rejected_at, seq, destination")
    }
}

/// What a count of all records of a kind found in one session.
struct SessionCount {
    var session: Int64
    var rows: Int
    var uploaded: Int
    /// The highest sequence number.
    var lastSeq: Int64
}

/// A record as retention sees it.
struct RetainedRow: Equatable, Sendable {
    var key: RowKey
    var session: Int64
    var isUploaded: Bool
    /// The row is deleted for its age, not for lack of room.
    var isOld = false

    /// What a statement selects as ts, seq, session, uploaded.
    static func all(_ rows: borrowing Statement) throws(SQLiteError) -> [RetainedRow] {
        var found: [RetainedRow] = []
        while try rows.step() {
            found.append(
                RetainedRow(
                    key: RowKey(ts: rows.integer(0), seq: rows.integer(1)), session: rows.integer(2),
                    isUploaded: rows.integer(3) != 0))
        }
        rows.reset()
        return found
    }

}

/// A damaged file may hold any number; these leave room to count on from.
enum Bounded {
    static func seq(_ seq: Int64) -> Int64 { min(seq, 1 << 62) }
    static func count(_ rows: Int64) -> Int { Int(clamping: min(max(rows, 0), 1 << 32)) }
    static func losses(_ count: Int64) -> Int { Int(clamping: min(max(count, 0), 1 << 52)) }
    /// A key that is not in use, higher than all others if there is one.
    static func key(besides keys: some Collection<Int64>) -> Int64 {
        let last = max(keys.max() ?? 0, 0)
        return last < .max ? last + 1 : (1...).first { !keys.contains($0) } ?? 1
    }
}
