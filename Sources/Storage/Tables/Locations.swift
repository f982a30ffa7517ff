internal import Base
internal import SQLite
internal import Tracking

/// Locations, ordered by time. Those statements are kept prepared that run with each fix or batch.
struct Locations: ~Copyable {
    private let db: Connection
    private let insertRow: Statement
    private let selectByID: Statement
    private let selectOldest: Statement
    private let deleteRow: Statement
    private let selectOldestPending: Statement
    private let selectUploaded: Statement
    private let selectPending: Statement
    private let deleteRun: Statement
    private let markRun: Statement
    private let countRun: Statement

    private static let retained = "ts, seq, session, uploaded"
    /// The rows of a run that are stored and not yet received by all: parameters 1 to 6 are `bounds(of:_:)`.
    static let isInRun =
        "(ts, seq) >= (?1, ?2) AND (ts, seq) <= (?3, ?4) AND seq BETWEEN ?5 AND ?6 AND uploaded = 0"
}

extension Locations {
    init(_ db: Connection) throws(SQLiteError) {
        let places = Array(repeating: "?", count: Int(Schema.columnCount)).joined(separator: ", ")
        self.init(
            db: db,
            insertRow: try db.prepare("INSERT INTO locations (\(Schema.columns)) VALUES (\(places))"),
            selectByID: try db.prepare("SELECT 1 FROM locations WHERE ts = ? AND id = ?"),
            selectOldest: try db.prepare(
                "SELECT \(Self.retained) FROM locations WHERE (ts, seq) >= (?, ?) ORDER BY ts, seq LIMIT ?"),
            deleteRow: try db.prepare("DELETE FROM locations WHERE ts = ? AND seq = ?"),
            selectOldestPending: try db.prepare(
                "SELECT ts, seq FROM locations WHERE (ts, seq) >= (?, ?) AND uploaded = 0 ORDER BY ts, seq"
            ),
            selectUploaded: try db.prepare(
                """
                SELECT \(Self.retained) FROM locations WHERE (ts, seq) >= (?, ?) AND ts < ? \
                AND uploaded = 1 ORDER BY ts, seq LIMIT ?
                """),
            selectPending: try db.prepare(
                """
                SELECT \(Schema.columns) FROM locations WHERE (ts, seq) >= (?, ?) AND session = ? AND uploaded = 0 \
                ORDER BY ts, seq
                """),
            deleteRun: try db.prepare("DELETE FROM locations WHERE " + Self.isInRun),
            markRun: try db.prepare("UPDATE locations SET uploaded = 1 WHERE " + Self.isInRun),
            countRun: try db.prepare("SELECT COUNT(*) FROM locations WHERE " + Self.isInRun))
    }

    func counts() throws(SQLiteError) -> [SessionCount] { try RecordKind.locations.counts(db) }

    /// - Parameter sessionID: the session behind its key.
    func latest(sessionID: (Int64) -> UUIDv7?) throws(SQLiteError) -> Location? {
        let row = try db.prepare("SELECT \(Schema.columns) FROM locations ORDER BY ts DESC, seq DESC LIMIT 1")
        guard try row.step() else { return nil }
        return LocationRow(row, sessionID: sessionID)?.location
    }

    func lastTime() throws(SQLiteError) -> Int64? {
        try db.value("SELECT MAX(ts) FROM locations").flatMap { Int64($0) }
    }

    func exists(ts: Int64, id: UUIDv7) throws(SQLiteError) -> Bool {
        try selectByID.bind([.integer(ts), .blob(id.bytes)])
        defer { selectByID.reset() }
        return try selectByID.step()
    }

    func insert(_ row: LocationRow) throws(SQLiteError) {
        try row.run(insertRow)
    }

    /// Inserts the locations of another database that are not there yet.
    ///
    /// - Returns: how many these are.
    func insert(salvaged rows: [Salvage.Row]) throws(SQLiteError) -> Int {
        var count = 0
        let mark = try db.prepare("UPDATE locations SET uploaded = 1 WHERE ts = ? AND seq = ?")
        for salvaged in rows
        where try !exists(ts: salvaged.row.key.ts, id: salvaged.row.location.id) {
            try insert(salvaged.row)
            count += 1
            guard salvaged.isUploaded else { continue }
            try mark.run(.integer(salvaged.row.key.ts), .integer(salvaged.row.key.seq))
        }
        return count
    }

    func remove(_ rows: [RetainedRow]) throws(SQLiteError) {
        for row in rows { try deleteRow.run(.integer(row.key.ts), .integer(row.key.seq)) }
    }

    // MARK: Searches

    /// The first that is pending and owed.
    func oldestPending(from start: RowKey, in owed: SeqSet) throws(SQLiteError) -> RowKey? {
        try selectOldestPending.bind([.integer(start.ts), .integer(start.seq)])
        defer { selectOldestPending.reset() }
        while try selectOldestPending.step() {
            let key = RowKey(ts: selectOldestPending.integer(0), seq: selectOldestPending.integer(1))
            if owed.contains(key.seq) { return key }
        }
        return nil
    }

    func oldest(from start: RowKey, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        try selectOldest.bind([.integer(start.ts), .integer(start.seq), .integer(Int64(limit))])
        return try RetainedRow.all(selectOldest)
    }

    func uploaded(from start: RowKey, before cutoff: Int64, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        try selectUploaded.bind([
            .integer(start.ts), .integer(start.seq), .integer(cutoff), .integer(Int64(limit)),
        ])
        return try RetainedRow.all(selectUploaded)
    }

    /// The oldest pending rows of a session that are owed.
    ///
    /// - Parameters:
    ///   - sent: a batch that is taken for acknowledged.
    ///   - expected: how many there are about.
    func pending(
        of session: Int64, id: UUIDv7?, in owed: SeqSet, from start: RowKey, limit: Int,
        besides sent: BatchMembers?, expected: Int
    ) throws(SQLiteError) -> [LocationRow] {
        try selectPending.bind([.integer(start.ts), .integer(start.seq), .integer(session)])
        defer { selectPending.reset() }
        var rows: [LocationRow] = []
        rows.reserveCapacity(min(limit, expected))
        while rows.count < limit, try selectPending.step() {
            let key = RowKey(ts: selectPending.integer(0), seq: selectPending.integer(1))
            guard owed.contains(key.seq), sent?.contains(key) != true else { continue }
            guard let row = LocationRow(selectPending, sessionID: { _ in id }) else {
                // An unreadable row belongs to no batch: it would be deleted with it, or be missing from it.
                guard rows.isEmpty else { break }
                continue
            }
            rows.append(row)
        }
        return rows
    }

    /// The newest of them, oldest first. Rarely asked, and so prepared here.
    ///
    /// - Parameter sent: a batch that is taken for acknowledged.
    func newestPending(
        of session: Int64, id: UUIDv7?, in owed: SeqSet, limit: Int, besides sent: BatchMembers?
    ) throws(SQLiteError) -> [LocationRow] {
        let select = try db.prepare(
            """
            SELECT \(Schema.columns) FROM locations WHERE session = ? AND uploaded = 0 ORDER BY ts DESC, seq DESC
            """)
        try select.bind([.integer(session)])
        var rows: [LocationRow] = []
        while rows.count < limit, try select.step() {
            let key = RowKey(ts: select.integer(0), seq: select.integer(1))
            guard owed.contains(key.seq), sent?.contains(key) != true else { continue }
            guard let row = LocationRow(select, sessionID: { _ in id }) else {
                // As above.
                guard rows.isEmpty else { break }
                continue
            }
            rows.append(row)
        }
        return rows.reversed()
    }

    /// How many pending rows each session has that are owed.
    func countPending(in owed: SeqSet) throws(SQLiteError) -> [Int64: Int] {
        let rows = try db.prepare("SELECT session, seq FROM locations WHERE uploaded = 0")
        var counts: [Int64: Int] = [:]
        while try rows.step() {
            if owed.contains(rows.integer(1)) { counts[rows.integer(0), default: 0] += 1 }
        }
        return counts
    }

    // MARK: Members of batches

    static func bounds(of run: RowRun, _ seqs: ClosedRange<Int64>) -> [Value] {
        [
            .integer(run.first.ts), .integer(run.first.seq), .integer(run.last.ts), .integer(run.last.seq),
            .integer(seqs.lowerBound), .integer(seqs.upperBound),
        ]
    }

    /// How many of them there still are.
    ///
    /// - Parameter seqs: those with these numbers.
    func count(_ members: BatchMembers, in seqs: SeqSet = .everything) throws(SQLiteError) -> Int {
        var count = 0
        for (run, range) in members.parts(in: seqs) {
            try countRun.bind(Self.bounds(of: run, range))
            defer { countRun.reset() }
            if try countRun.step() { count += Int(clamping: countRun.integer(0)) }
        }
        return count
    }

    /// Oldest first.
    func members(_ members: BatchMembers, sessionID: (Int64) -> UUIDv7?) throws(SQLiteError) -> [LocationRow]
    {
        let select = try db.prepare(
            "SELECT \(Schema.columns) FROM locations WHERE \(Self.isInRun) ORDER BY ts, seq")
        var rows: [LocationRow] = []
        for run in members.runs {
            try select.bind(Self.bounds(of: run, run.seqs))
            while try select.step() {
                if let row = LocationRow(select, sessionID: sessionID) { rows.append(row) }
            }
        }
        return rows
    }

    /// Deletes those of the members that have these numbers.
    ///
    /// - Parameter keeps: they are marked instead.
    /// - Returns: how many there were.
    func settle(_ members: BatchMembers, in seqs: SeqSet, keeps: Bool) throws(SQLiteError) -> Int {
        var count = 0
        for (run, range) in members.parts(in: seqs) {
            if keeps {
                try markRun.run(Self.bounds(of: run, range))
            } else {
                try deleteRun.run(Self.bounds(of: run, range))
            }
            count += db.changes
        }
        return count
    }
}

/// What deletions, re-sending and salvage do.
extension Locations {
    /// The next rows that a deletion covers.
    func next(in deletion: Deletion, limit: Int64) throws(SQLiteError) -> [RetainedRow] {
        let rows = try db.prepare(
            "SELECT ts, seq, session, uploaded FROM locations WHERE ts <= ? AND seq <= ? ORDER BY ts, seq LIMIT ?"
        )
        try rows.bind([
            .integer(deletion.cutoff?.milliseconds ?? .max), .integer(deletion.maxSeq), .integer(limit),
        ])
        return try RetainedRow.all(rows)
    }

    /// Pending rows become kept ones.
    func keep(_ keys: [RowKey]) throws(SQLiteError) {
        let mark = try db.prepare("UPDATE locations SET uploaded = 1 WHERE ts = ? AND seq = ?")
        for key in keys { try mark.run(.integer(key.ts), .integer(key.seq)) }
    }

    func remove(upTo last: RowKey, maxSeq: Int64) throws(SQLiteError) {
        try db.prepare("DELETE FROM locations WHERE (ts, seq) <= (?, ?) AND seq <= ?").run(
            .integer(last.ts), .integer(last.seq), .integer(maxSeq))
    }

    /// Kept rows become pending.
    func resend(_ keys: [RowKey]) throws(SQLiteError) {
        let move = try db.prepare(
            "UPDATE locations SET uploaded = 0 WHERE ts = ? AND seq = ? AND uploaded = 1")
        for key in keys { try move.run(.integer(key.ts), .integer(key.seq)) }
    }

    /// The keys of the pending rows of a salvaged batch; nil when one is missing.
    func pending(_ rows: [(ts: Int64, id: [UInt8])], of session: Int64, extras: Int64) throws(SQLiteError)
        -> [RowKey]?
    {
        let row = try db.prepare(
            "SELECT seq FROM locations WHERE ts = ? AND id = ? AND session = ? AND extras = ? AND uploaded = 0"
        )
        var keys: [RowKey] = []
        for (ts, id) in rows {
            try row.bind([.integer(ts), .blob(id), .integer(session), .integer(extras)])
            guard try row.step() else { return nil }
            keys.append(RowKey(ts: ts, seq: row.integer(0)))
            row.reset()
        }
        return keys
    }
}
