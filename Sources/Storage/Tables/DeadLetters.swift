internal import Base
internal import SQLite

/// Dead letters: rows that the server refused for good, of each kind of record, in the order of their refusal; and the
/// streak of batches that became dead letters since the latest acknowledgement.
struct DeadLetters {
    /// Kept at most of each destination, of all kinds together.
    static let limit = 10_000

    private let db: Connection

    /// Condition: the dead letter is one of the streak; ?1 is the destination.
    static let isInStreak = "batch IN (SELECT batch FROM streak WHERE destination = ?1)"
    /// Condition: the dead letter has expired. The streak does not expire: whose fault it was is not known
    /// yet.
    private static let isExpired = "rejected_at < ?2 AND NOT \(isInStreak)"

    init(_ db: Connection) {
        self.db = db
    }

    func count(_ kind: RecordKind, of destination: DestinationName) throws(SQLiteError) -> Int {
        let row = try db.prepare("SELECT COUNT(*) FROM \(kind.rejected) WHERE destination = ?")
        try row.bind([.text(destination.text)])
        return try row.step() ? Int(clamping: row.integer(0)) : 0
    }

    /// The numbers of those of one destination.
    func seqs(_ kind: RecordKind, of destination: DestinationName) throws(SQLiteError) -> SeqSet {
        let rows = try db.prepare("SELECT seq FROM \(kind.rejected) WHERE destination = ?")
        try rows.bind([.text(destination.text)])
        var found: [ClosedRange<Int64>] = []
        while try rows.step() { found.append(rows.integer(0)...rows.integer(0)) }
        return SeqSet(found)
    }

    /// The highest sequence number in use.
    func lastSeq(_ kind: RecordKind) throws(SQLiteError) -> Int64 {
        Int64(try db.value("SELECT MAX(seq) FROM \(kind.rejected)") ?? "") ?? 0
    }

    // MARK: The way in

    /// Copies the rows of a batch.
    ///
    /// - Parameter due: those of them that the destination was still owed.
    func insert(
        _ batch: FrozenBatch, due: Backlog.Owed, because refusal: Refusal
    ) throws(SQLiteError) {
        let values: [Value] = [
            .text(batch.destination.text), .blob(batch.id.bytes), .integer(Int64(refusal.status)),
            refusal.reason.map { .text($0) } ?? .null, .integer(refusal.time.milliseconds),
        ]
        let columns = "destination, batch, http_status, reason, rejected_at"
        for (run, seqs) in batch.members.parts(in: due.locations) {
            try db.prepare(
                """
                INSERT INTO rejected (\(Schema.columns), \(columns)) \
                SELECT \(Schema.columns), ?7, ?8, ?9, ?10, ?11 FROM locations WHERE \(Locations.isInRun)
                """
            ).run(Locations.bounds(of: run, seqs) + values)
        }
        for range in due.events.ranges {
            try db.prepare(
                """
                INSERT INTO rejected_events (\(EventRow.columns), \(columns)) \
                SELECT \(EventRow.columns), ?3, ?4, ?5, ?6, ?7 FROM events \
                WHERE seq BETWEEN ?1 AND ?2 AND uploaded = 0
                """
            ).run([.integer(range.lowerBound), .integer(range.upperBound)] + values)
        }
    }

    /// How the newest were refused; nil: there are none.
    func newest(of destination: DestinationName) throws(SQLiteError) -> Refusal? {
        var newest: Refusal?
        for kind in RecordKind.all {
            let row = try db.prepare(
                """
                SELECT http_status, reason, rejected_at FROM \(kind.rejected) WHERE destination = ? \
                ORDER BY rejected_at DESC, seq DESC LIMIT 1
                """)
            try row.bind([.text(destination.text)])
            guard try row.step() else { continue }
            let found = Refusal(
                status: Int(clamping: row.integer(0)), reason: row.text(1),
                time: Timestamp(milliseconds: row.integer(2)))
            if newest.map({ $0.time < found.time }) ?? true { newest = found }
        }
        return newest
    }

    // MARK: The streak

    func hasStreak(_ destination: DestinationName) throws(SQLiteError) -> Bool {
        let row = try db.prepare("SELECT 1 FROM streak WHERE destination = ? LIMIT 1")
        try row.bind([.text(destination.text)])
        return try row.step()
    }

    func addToStreak(_ batch: FrozenBatch) throws(SQLiteError) {
        try db.prepare("INSERT OR IGNORE INTO streak (destination, batch) VALUES (?, ?)").run(
            .text(batch.destination.text), .blob(batch.id.bytes))
    }

    func endStreak(of destination: DestinationName) throws(SQLiteError) {
        try db.prepare("DELETE FROM streak WHERE destination = ?").run(.text(destination.text))
    }

    func countInStreak(_ kind: RecordKind, of destination: DestinationName) throws(SQLiteError) -> Int {
        let row = try db.prepare(
            "SELECT COUNT(*) FROM \(kind.rejected) WHERE destination = ?1 AND \(Self.isInStreak)")
        try row.bind([.text(destination.text)])
        return try row.step() ? Int(clamping: row.integer(0)) : 0
    }

    // MARK: The way out

    /// A refused record.
    struct Letter: Equatable, Sendable {
        var rejectedAt: Int64
        var key: RowKey
        var session: Int64
        var id: [UInt8]
    }

    /// The first that match the rule, in the order of their rejection.
    func first(
        _ kind: RecordKind, of destination: DestinationName, where rule: String = "1", limit: Int
    ) throws(SQLiteError) -> [Letter] {
        guard limit > 0 else { return [] }
        let rows = try db.prepare(
            """
            SELECT rejected_at, seq, ts, session, id FROM \(kind.rejected) WHERE destination = ?1 AND \(rule) \
            ORDER BY rejected_at, seq LIMIT \(limit)
            """)
        try rows.bind([.text(destination.text)])
        var letters: [Letter] = []
        while try rows.step() {
            letters.append(
                Letter(
                    rejectedAt: rows.integer(0), key: RowKey(ts: rows.integer(2), seq: rows.integer(1)),
                    session: rows.integer(3), id: rows.blob(4)))
        }
        return letters
    }

    /// What has become of the row of a letter that was re-queued.
    struct Returned: Equatable {
        var key: RowKey
        var session: Int64
        /// The row was gone, and is back.
        var isNew = false
        /// The row was kept, though no destination was to get it any more.
        var wasKept = false
    }

    /// Makes the letters' rows pending. What is still there stays where it is; what has left comes back under its number.
    ///
    /// - Parameter nextSeq: where another row has that number, as it may in a damaged file, this is the first of others.
    func requeue(
        _ letters: [Letter], _ kind: RecordKind, of destination: DestinationName, nextSeq: Int64
    ) throws(SQLiteError) -> [Returned] {
        guard !letters.isEmpty else { return [] }
        let isLocation = kind.code == RecordKind.locations.code
        let columns = isLocation ? Schema.columns : EventRow.columns
        let values = columns.split(separator: ", ").map { $0 == "seq" ? "?4" : String($0) }
            .joined(separator: ", ")
        let isLetter = "rejected_at = ?1 AND seq = ?2 AND destination = ?3"
        let find = try db.prepare(
            "SELECT uploaded, id = ?3 FROM \(kind.table) WHERE seq = ?2" + (isLocation ? " AND ts = ?1" : ""))
        let unmark = try db.prepare("UPDATE \(kind.table) SET uploaded = 0 WHERE seq = ?2 AND ts = ?1")
        let insert = try db.prepare(
            "INSERT INTO \(kind.table) (\(columns)) SELECT \(values) FROM \(kind.rejected) WHERE \(isLetter)")
        let delete = try db.prepare("DELETE FROM \(kind.rejected) WHERE \(isLetter)")
        var returned: [Returned] = []
        var fresh = nextSeq
        for letter in letters {
            let key: [Value] = [.integer(letter.key.ts), .integer(letter.key.seq)]
            let name: [Value] = [
                .integer(letter.rejectedAt), .integer(letter.key.seq), .text(destination.text),
            ]
            var row = Returned(key: letter.key, session: letter.session)
            try find.bind(key + [.blob(letter.id)])
            let isTaken = try find.step()
            let isThere = isTaken && find.integer(1) != 0
            row.wasKept = isThere && find.integer(0) != 0
            row.isNew = !isThere
            find.reset()
            if row.wasKept { try unmark.run(key) }
            if row.isNew {
                if isTaken { (row.key.seq, fresh) = (fresh, fresh + 1) }
                try insert.run(name + [.integer(row.key.seq)])
            }
            try delete.run(name)
            returned.append(row)
        }
        return returned
    }

    func remove(_ kind: RecordKind, of destination: DestinationName, limit: Int) throws(SQLiteError) {
        try db.prepare(
            """
            DELETE FROM \(kind.rejected) WHERE (rejected_at, seq, destination) IN (SELECT rejected_at, seq, destination \
            FROM \(kind.rejected) WHERE destination = ?1 ORDER BY rejected_at, seq LIMIT \(limit))
            """
        ).run(.text(destination.text))
    }

    /// How many have expired.
    func countExpired(
        _ kind: RecordKind, of destination: DestinationName, before expiry: Timestamp
    ) throws(SQLiteError) -> Int {
        let row = try db.prepare(
            "SELECT COUNT(*) FROM \(kind.rejected) WHERE destination = ?1 AND \(Self.isExpired)")
        try row.bind([.text(destination.text), .integer(expiry.milliseconds)])
        return try row.step() ? Int(clamping: row.integer(0)) : 0
    }

    func removeExpired(of destination: DestinationName, before expiry: Timestamp) throws(SQLiteError) {
        for kind in RecordKind.all {
            try db.prepare("DELETE FROM \(kind.rejected) WHERE destination = ?1 AND \(Self.isExpired)").run(
                .text(destination.text), .integer(expiry.milliseconds))
        }
    }
}
