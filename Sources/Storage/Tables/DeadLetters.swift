internal import Base
internal import SQLite

/// Dead letters: rows that the server refused for good, of each kind of record, in the order of their refusal; and the
/// streak of batches that became dead letters since the latest acknowledgement.
struct DeadLetters: ~Copyable {
    /// Kept at most, of all kinds together.
    static let limit = 10_000

    private let db: Connection
    private let copyLocations: Statement

    /// Those of the streak.
    static let isInStreak = "batch IN (SELECT batch FROM streak)"
    /// Those of the streak do not expire: it is not yet known whose fault it was.
    private static let isExpired = "rejected_at < ? AND NOT \(isInStreak)"

    init(_ db: Connection) throws(SQLiteError) {
        self.db = db
        copyLocations = try db.prepare(
            """
            INSERT INTO rejected (\(Schema.columns), batch, http_status, rejected_at) \
            SELECT \(Schema.columns), ?9, ?10, ?11 FROM locations WHERE
            """ + " " + BatchMembers.condition)
    }

    func count(_ kind: RecordKind) throws(SQLiteError) -> Int {
        Int(try db.value("SELECT COUNT(*) FROM \(kind.rejected)") ?? "") ?? 0
    }

    /// The number of events, and the highest of their sequence numbers.
    func eventCount() throws(SQLiteError) -> (count: Int, lastSeq: Int64) {
        let row = try db.prepare("SELECT COUNT(*), MAX(seq) FROM rejected_events")
        return try row.step() ? (Int(row.integer(0)), row.integer(1)) : (0, 0)
    }

    func lastLocationSeq() throws(SQLiteError) -> Int64 {
        Int64(try db.value("SELECT MAX(seq) FROM rejected") ?? "") ?? 0
    }

    // MARK: The way in

    /// Copies the rows of a batch, which are deleted next.
    func insertLocations(
        of batch: FrozenBatch, status: Int, at time: Timestamp
    ) throws(SQLiteError) {
        try copyLocations.run(batch.members.values + Self.circumstances(batch, status, time))
    }

    /// The same for its events.
    func insertEvents(of batch: FrozenBatch, status: Int, at time: Timestamp) throws(SQLiteError) {
        try db.prepare(
            """
            INSERT INTO rejected_events (\(EventRow.columns), batch, http_status, rejected_at) \
            SELECT \(EventRow.columns), ?2, ?3, ?4 FROM geofence_events WHERE \(Events.isMember)
            """
        ).run([.integer(batch.key)] + Self.circumstances(batch, status, time))
    }

    private static func circumstances(_ batch: FrozenBatch, _ status: Int, _ time: Timestamp) -> [Value] {
        [.blob(batch.id.bytes), .integer(Int64(status)), .integer(time.milliseconds)]
    }

    // MARK: The streak

    var hasStreak: Bool {
        get throws(SQLiteError) { try db.value("SELECT 1 FROM streak LIMIT 1") != nil }
    }

    func addToStreak(_ batch: UUIDv7) throws(SQLiteError) {
        try db.prepare("INSERT OR IGNORE INTO streak (batch) VALUES (?)").run(.blob(batch.bytes))
    }

    func endStreak() throws(SQLiteError) {
        try db.execute("DELETE FROM streak")
    }

    func countInStreak(_ kind: RecordKind) throws(SQLiteError) -> Int {
        Int(try db.value("SELECT COUNT(*) FROM \(kind.rejected) WHERE \(Self.isInStreak)") ?? "") ?? 0
    }

    // MARK: The way out

    /// A location.
    struct Letter: Equatable, Sendable {
        var rejectedAt: Int64
        var seq: Int64
        var ts: Int64
        var session: Int64
    }

    /// The first locations that match the rule, in the order of their rejection.
    func locations(where rule: String = "1", limit: Int) throws(SQLiteError) -> [Letter] {
        guard limit > 0 else { return [] }
        let rows = try db.prepare(
            "SELECT rejected_at, seq, ts, session FROM rejected WHERE \(rule) ORDER BY rejected_at, seq LIMIT ?"
        )
        try rows.bind([.integer(Int64(limit))])
        var letters: [Letter] = []
        while try rows.step() {
            letters.append(
                Letter(
                    rejectedAt: rows.integer(0), seq: rows.integer(1), ts: rows.integer(2),
                    session: rows.integer(3)))
        }
        return letters
    }

    /// The rows get new sequence numbers, lower than any given before: none may join a batch
    /// that is already frozen and be acknowledged with it unsent, nor be taken for the newest of its session.
    func requeue(_ letters: [Letter], below lowest: Int64) throws(SQLiteError) {
        guard !letters.isEmpty else { return }
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
    }

    func removeLocations(upTo last: Letter) throws(SQLiteError) {
        try db.prepare("DELETE FROM rejected WHERE (rejected_at, seq) <= (?, ?)").run(
            .integer(last.rejectedAt), .integer(last.seq))
    }

    /// Makes the first events that match the rule pending. They keep their numbers, because a
    /// batch names its events one by one.
    func requeueEvents(where rule: String = "1", limit: Int) throws(SQLiteError) {
        guard limit > 0 else { return }
        try db.execute(
            """
            INSERT INTO geofence_events (\(EventRow.columns)) SELECT \(EventRow.columns) FROM rejected_events \
            WHERE \(rule) ORDER BY rejected_at, seq LIMIT \(limit)
            """)
        try removeEvents(where: rule, limit: limit)
    }

    func removeEvents(where rule: String = "1", limit: Int) throws(SQLiteError) {
        try db.execute(
            """
            DELETE FROM rejected_events WHERE (rejected_at, seq) IN \
            (SELECT rejected_at, seq FROM rejected_events WHERE \(rule) ORDER BY rejected_at, seq LIMIT \(limit))
            """)
    }

    /// How many have expired.
    func countExpired(_ kind: RecordKind, before expiry: Timestamp) throws(SQLiteError) -> Int {
        let row = try db.prepare("SELECT COUNT(*) FROM \(kind.rejected) WHERE \(Self.isExpired)")
        try row.bind([.integer(expiry.milliseconds)])
        return try row.step() ? Int(row.integer(0)) : 0
    }

    func removeExpired(before expiry: Timestamp) throws(SQLiteError) {
        for kind in RecordKind.all {
            try db.prepare("DELETE FROM \(kind.rejected) WHERE \(Self.isExpired)").run(
                .integer(expiry.milliseconds))
        }
    }
}
