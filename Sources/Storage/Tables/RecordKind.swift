internal import SQLite

/// A kind of record that is stored, uploaded and deleted. A new one is another entry in `all`.
///
/// What refers to sessions and extras is found by its columns instead (`Schema.tables(naming:)`), so that nothing that
/// is referred to is ever forgotten because of a list.
struct RecordKind: Sendable {
    /// The table of the records: key `(ts, seq)`, with a column `uploaded`.
    let table: String
    /// The table of those that became dead letters: key `(rejected_at, seq)`.
    let rejected: String
    /// The last sequence number that a deletion covers.
    let maxSeq: @Sendable (Deletion.Bounds) -> Int64

    static let locations = RecordKind(table: "locations", rejected: "rejected", maxSeq: \.maxSeq)
    static let events = RecordKind(
        table: "geofence_events", rejected: "rejected_events", maxSeq: \.maxEventSeq)

    /// In the order in which they are read, deleted and re-queued.
    static let all = [locations, events]

    /// Every table that holds records, with the first column of its key.
    static let tables: [(kind: RecordKind, name: String, key: String)] = all.flatMap {
        [($0, $0.table, "ts"), ($0, $0.rejected, "rejected_at")]
    }

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
    var extras: Int64 = 0
    /// It is deleted for its age, not for lack of room.
    var isOld = false

    /// What a statement selects as ts, seq, session, uploaded and, perhaps, extras.
    static func all(_ rows: borrowing Statement, hasExtras: Bool = false) throws(SQLiteError) -> [RetainedRow]
    {
        var found: [RetainedRow] = []
        while try rows.step() {
            found.append(
                RetainedRow(
                    key: RowKey(ts: rows.integer(0), seq: rows.integer(1)), session: rows.integer(2),
                    isUploaded: rows.integer(3) != 0, extras: hasExtras ? rows.integer(4) : 0))
        }
        rows.reset()
        return found
    }

    func isMember(of batch: BatchMembers) -> Bool {
        batch.contains(key, session: session, extras: extras, isUploaded: isUploaded)
    }
}

/// A damaged file may hold any number; these leave room to count on from.
enum Bounded {
    static func seq(_ seq: Int64) -> Int64 { min(seq, 1 << 62) }
    static func lowestSeq(_ seq: Int64) -> Int64 { min(max(seq, -1 << 62), 0) }
    static func count(_ rows: Int64) -> Int { Int(clamping: min(max(rows, 0), 1 << 32)) }
    static func losses(_ count: Int64) -> Int { Int(clamping: min(max(count, 0), 1 << 52)) }
    /// A key that is not in use, higher than all others if there is one.
    static func key(besides keys: some Collection<Int64>) -> Int64 {
        let last = max(keys.max() ?? 0, 0)
        return last < .max ? last + 1 : (1...).first { !keys.contains($0) } ?? 1
    }
}
