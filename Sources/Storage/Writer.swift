internal import Base
internal import Linux
internal import SQLite

/// The single write connection, with what it knows by heart about the rows.
///
/// The tallies are counted once, when the database is opened, and kept in step afterwards, each only after its COMMIT
/// has returned: so neither the cap nor the status costs more with 100,000 rows than with none.
struct Writer: ~Copyable {
    let db: Connection
    let statements: Statements
    var options: StoreOptions
    var tally = Tally()
    var events = EventTally()
    /// As the counters in the database say.
    var losses = Losses()
    /// Rows that there were when the database was opened.
    var rowsAtOpen = 0
    /// Locations kept at most.
    var rowLimit: Int { options.holdsRows ? max(options.maxRows, rowsAtOpen) : options.maxRows }
    /// Whether there have been dead letters since the latest acknowledgement.
    var hasStreak = false
    /// Whether the recorded state of each session is complete, except for the current one.
    var tailsAreWritten = false
    /// By key; `sessionLimit` of them, and those that have rows.
    var sessions: [Int64: UUIDv7] = [:]
    /// The session that rows are being written to.
    var current: CurrentSession?
    /// Batches in the order in which they are to be sent.
    var frozen: [Frozen] = [] { didSet { tally.prunableFrom = .first } }
    /// Rows that the uploader is about to freeze: they are not pruned either.
    var draft: BatchMembers? { didSet { if draft != oldValue { tally.prunableFrom = .first } } }
    /// What the connection had written when it was drafted.
    var changesAtDraft: Int64 = 0
    /// The latest draft, while it holds every pending row of its session up to its last one: what comes behind it then
    /// begins there.
    var gapless: BatchMembers?
    var extras: [String: Int64] = [:]
    /// So many are looked through for those that nothing refers to.
    var extrasLimit = unusedExtrasLimit

    static let sessionLimit = 1000
    static let rejectedLimit = 10_000
    /// Versions of the extras that are kept without asking who needs them.
    private static let extrasLimit = 100
    /// Pages in the WAL at which it is folded in: 2 MB, twice that where pages are of 2048 bytes.
    static let checkpointPages = 2000
    /// So many times that length, readers are waited for, each time a fix is written, for so many milliseconds.
    private static let longLog = 4
    private static let readerPatience = 20

    struct Tally {
        var rows = 0
        var uploaded = 0
        var rejected = 0
        var pending: [Int64: Int] = [:]
        /// No pending row lies before this one.
        var oldestPending: RowKey?
        /// No uploaded row lies before this one.
        var uploadedFrom = RowKey.first
        /// What lies before this one belongs to a batch.
        var prunableFrom = RowKey.first
        /// The sequence number of the next row.
        var nextSeq: Int64 = 1
        /// The lowest one given: those of re-queued rows count down from 0.
        var lowestSeq: Int64 = 0
    }

    struct CurrentSession {
        var key: Int64
        var tail: SessionTail
        /// The last sequence number given in this session; one less than the first when it has none.
        var lastSeq: Int64
    }

    struct Frozen {
        var key: Int64
        var members: BatchMembers
        var isPermanent: Bool

        func isOf(_ batch: FrozenBatch?) -> Bool {
            key == batch?.key && members == batch?.members
        }
    }

    /// Opens and, where needed, creates the database at `path`.
    static func open(_ path: String, options: StoreOptions) throws(StorageError) -> Writer {
        do {
            let db = try Connection(path: path, access: .readWrite)
            try configure(db, options)
            try Schema.migrate(db)
            let statements = try Statements(db)
            var writer = Writer(db: db, statements: statements, options: options)
            try writer.load()
            writer.rowsAtOpen = writer.tally.rows
            // The names of the database and its WAL. SQLite syncs them, too, but does not look at the result.
            try StateDirectory.synchronise(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
            return writer
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch let error as SystemError {
            throw StorageError(error)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(operation: "open", kind: .other, message: "\(error)")
        }
    }

    private init(db: consuming Connection, statements: consuming Statements, options: StoreOptions) {
        self.db = db
        self.statements = statements
        self.options = options
    }

    /// Every pragma is set explicitly, whatever this build of SQLite has as its default, and read back.
    private static func configure(_ db: borrowing Connection, _ options: StoreOptions) throws(SQLiteError) {
        try db.execute("PRAGMA page_size = \(Schema.pageSize)")
        let pragmas: [Pragma] = [
            ("journal_mode = WAL", "journal_mode", "wal"),
            synchronous(options),
            // The WAL is reused, not truncated: a write that does not grow the file needs no journal of the file system.
            ("journal_size_limit = 16777216", "journal_size_limit", "16777216"),
            ("cache_size = -512", "cache_size", "-512"),
            ("temp_store = MEMORY", "temp_store", "2"),
            ("mmap_size = 0", "mmap_size", "0"),
            ("foreign_keys = OFF", "foreign_keys", "0"),
            ("trusted_schema = OFF", "trusted_schema", "0"),
            ("cell_size_check = ON", "cell_size_check", "1"),
            ("secure_delete = OFF", "secure_delete", "0"),
            ("max_page_count = \(try pageLimit(db, options))", "max_page_count", nil),
        ]
        for pragma in pragmas { try set(pragma, db) }
        try db.takeOverCheckpoints()
    }

    private typealias Pragma = (set: String, name: String, expected: String?)

    private static func synchronous(_ options: StoreOptions) -> Pragma {
        let level = options.durability == .full ? 2 : 1
        return ("synchronous = \(level)", "synchronous", "\(level)")
    }

    private static func set(_ pragma: Pragma, _ db: borrowing Connection) throws(SQLiteError) {
        _ = try db.value("PRAGMA " + pragma.set)
        let found = try db.value("PRAGMA " + pragma.name)
        guard let expected = pragma.expected, found != expected else { return }
        throw SQLiteError(
            operation: "PRAGMA " + pragma.set, code: .ioError,
            message: "SQLite answers \(pragma.name) = \(found ?? "nothing"), but \(expected) was asked for")
    }

    /// Bytes for dead letters and batches, in addition to the rows.
    private static let workingRoom: Int64 = 64 << 20

    /// A kilobyte per row is several times what they take. Where there are far more rows than the cap allows, because
    /// it has been lowered, there must still be room to freeze and acknowledge; free pages of the file are part of
    /// it.
    private static func pageLimit(
        _ db: borrowing Connection, _ options: StoreOptions
    ) throws(SQLiteError) -> Int64 {
        func number(_ name: String) throws(SQLiteError) -> Int64 {
            Int64(try db.value("PRAGMA " + name) ?? "") ?? 0
        }
        let pageSize = max(try number("page_size"), 512)
        let used = try number("page_count") - number("freelist_count")
        return max(
            (workingRoom + Int64(options.maxRows) * 1024) / pageSize, used + workingRoom / pageSize)
    }

    /// Applies other options.
    mutating func apply(_ options: StoreOptions) throws(SQLiteError) {
        if options.durability != self.options.durability { try Self.set(Self.synchronous(options), db) }
        self.options = options
        _ = try db.value("PRAGMA max_page_count = \(try Self.pageLimit(db, options))")
    }

    /// Folds the WAL into the database once it is long enough.
    func checkpointIfDue(pages: Int = checkpointPages) throws(SQLiteError) {
        guard db.logPages >= pages else { return }
        // While history is being read the WAL can only be used again between two pages: wait for that before it grows.
        let isLong = db.logPages >= Self.longLog * pages
        try db.checkpoint(waitingForReaders: isLong ? Self.readerPatience : 0)
    }

    mutating func load() throws(SQLiteError) {
        let all = try db.prepare("SELECT key, id FROM sessions")
        while try all.step() { sessions[all.integer(0)] = UUIDv7(bytes: all.blob(1)) }
        tailsAreWritten = try takeTallies()
        let newest = try tailsAreWritten ? [] : countLocations()
        tally.lowestSeq = Self.bounded(lowestSeq: try counter(Self.lowestSeq))
        tally.rejected = Int(try db.value("SELECT COUNT(*) FROM rejected") ?? "") ?? 0
        try loadEvents()
        try passMarks()
        try loadLosses()
        hasStreak = try db.value("SELECT 1 FROM streak LIMIT 1") != nil
        try loadExtras()
        // At each start at which the rows are checked anyway: they would pile up where they change often.
        if !tailsAreWritten, extras.count > Self.extrasLimit { try forgetUnusedExtras() }
        let batches = try db.prepare(
            "SELECT \(Statements.batchColumns) FROM batches ORDER BY first_ts, first_seq, key")
        while try batches.step() {
            frozen.append(
                Frozen(
                    key: batches.integer(0), members: Statements.members(batches),
                    isPermanent: batches.integer(10) != 0))
        }
        guard !tailsAreWritten else { return }
        try findOldestPending(from: .first)
        try resumeSession(newestRows: newest)
    }

    /// Counts everything once. Returns the last sequence number in each session that has rows.
    private mutating func countLocations() throws(SQLiteError) -> [(session: Int64, seq: Int64)] {
        let groups = try db.prepare(
            "SELECT session, COUNT(*), SUM(uploaded <> 0), MAX(seq) FROM locations GROUP BY session")
        var lastSeq: Int64 = 0
        var newest: [(session: Int64, seq: Int64)] = []
        while try groups.step() {
            let (count, uploaded) = (Int(groups.integer(1)), Int(groups.integer(2)))
            tally.rows += count
            tally.uploaded += uploaded
            if count > uploaded { tally.pending[groups.integer(0)] = count - uploaded }
            lastSeq = max(lastSeq, groups.integer(3))
            newest.append((groups.integer(0), groups.integer(3)))
        }
        for sql in ["SELECT MAX(last_seq) FROM sessions", "SELECT MAX(seq) FROM rejected"] {
            lastSeq = max(lastSeq, Int64(try db.value(sql) ?? "") ?? 0)
        }
        // Bounded, because a damaged file may hold any number.
        tally.nextSeq = Self.bounded(seq: lastSeq) + 1
        return newest
    }

    /// Looks for the oldest pending row at or after `start`.
    mutating func findOldestPending(from start: RowKey) throws(SQLiteError) {
        try statements.oldestPending.bind([.integer(start.ts), .integer(start.seq)])
        tally.oldestPending =
            try statements.oldestPending.step()
            ? RowKey(ts: statements.oldestPending.integer(0), seq: statements.oldestPending.integer(1)) : nil
        statements.oldestPending.reset()
    }

    /// Books a row that has come into `locations`, into the tally.
    mutating func add(pending key: RowKey, ofSession session: Int64) {
        tally.rows += 1
        tally.prunableFrom = min(tally.prunableFrom, key)
        tally.pending[session, default: 0] += 1
        tally.oldestPending = min(tally.oldestPending ?? key, key)
        if let last = gapless?.last, key <= last { gapless = nil }
    }

    /// Books rows that have left `locations`, or have become uploaded, out of the tally.
    mutating func remove(pending count: Int, ofSession session: Int64) {
        let left = (tally.pending[session] ?? 0) - count
        tally.pending[session] = left > 0 ? left : nil
    }
}

/// The statements that are used again and again.
struct Statements: ~Copyable {
    let insert: Statement
    let exists: Statement
    let oldest: Statement
    let deleteRow: Statement
    let oldestPending: Statement
    let oldestUploaded: Statement
    let draft: Statement
    let deleteMembers: Statement
    let markMembers: Statement
    let rejectMembers: Statement
    let countMembers: Statement
    let batch: Statement
    let counter: Statement
    let raiseCounter: Statement
    let insertBatch: Statement
    let deleteBatch: Statement
    let updateTail: Statement

    static let batchColumns = """
        key, session, extras, first_ts, first_seq, last_ts, last_seq, max_seq, min_seq, locations, is_permanent, events
        """

    /// The rows of a batch: parameters 1 to 8 are `memberValues`.
    static let isMember = """
        (ts, seq) >= (?1, ?2) AND (ts, seq) <= (?3, ?4) AND seq <= ?5 AND seq >= ?6 AND session = ?7 \
        AND extras = ?8 AND uploaded = 0
        """

    static let memberParameters = 8
    static let prunableColumns = "ts, seq, session, uploaded, extras"

    static func members(_ row: borrowing Statement) -> BatchMembers {
        BatchMembers(
            session: row.integer(1), extras: row.integer(2),
            first: RowKey(ts: row.integer(3), seq: row.integer(4)),
            last: RowKey(ts: row.integer(5), seq: row.integer(6)), maxSeq: row.integer(7),
            minSeq: row.integer(8), count: count(row.integer(9)), events: count(row.integer(11)))
    }

    /// A damaged file may hold any number.
    private static func count(_ rows: Int64) -> Int { Int(clamping: min(max(rows, 0), 1 << 32)) }

    /// The parameters of `isMember`.
    static func memberValues(_ members: BatchMembers) -> [Value] {
        [
            .integer(members.first.ts), .integer(members.first.seq), .integer(members.last.ts),
            .integer(members.last.seq), .integer(members.maxSeq), .integer(members.minSeq),
            .integer(members.session), .integer(members.extras),
        ]
    }
}

extension Statements {
    init(_ db: borrowing Connection) throws(SQLiteError) {
        let places = Array(repeating: "?", count: 18).joined(separator: ", ")
        self.init(
            insert: try db.prepare("INSERT INTO locations (\(Schema.columns)) VALUES (\(places))"),
            exists: try db.prepare("SELECT 1 FROM locations WHERE ts = ? AND id = ?"),
            oldest: try db.prepare(
                "SELECT \(Self.prunableColumns) FROM locations WHERE (ts, seq) >= (?, ?) ORDER BY ts, seq LIMIT ?"
            ),
            deleteRow: try db.prepare("DELETE FROM locations WHERE ts = ? AND seq = ?"),
            oldestPending: try db.prepare(
                "SELECT ts, seq FROM locations WHERE (ts, seq) >= (?, ?) AND uploaded = 0 ORDER BY ts, seq LIMIT 1"
            ),
            oldestUploaded: try db.prepare(
                """
                SELECT \(Self.prunableColumns) FROM locations WHERE (ts, seq) >= (?, ?) AND ts < ? \
                AND uploaded = 1 ORDER BY ts, seq LIMIT ?
                """),
            draft: try db.prepare(
                """
                SELECT \(Schema.columns) FROM locations WHERE (ts, seq) >= (?, ?) AND session = ? AND uploaded = 0 \
                ORDER BY ts, seq LIMIT ?
                """),
            deleteMembers: try db.prepare("DELETE FROM locations WHERE " + Self.isMember),
            markMembers: try db.prepare("UPDATE locations SET uploaded = 1 WHERE " + Self.isMember),
            rejectMembers: try db.prepare(
                """
                INSERT INTO rejected (\(Schema.columns), batch, http_status, rejected_at) \
                SELECT \(Schema.columns), ?9, ?10, ?11 FROM locations WHERE
                """ + " " + Self.isMember),
            countMembers: try db.prepare("SELECT COUNT(*) FROM locations WHERE " + Self.isMember),
            batch: try db.prepare("SELECT id, body, is_piece FROM batches WHERE key = ?"),
            counter: try db.prepare("SELECT value FROM counters WHERE name = ?"),
            raiseCounter: try db.prepare(
                """
                INSERT INTO counters (name, value) VALUES (?, ?) \
                ON CONFLICT (name) DO UPDATE SET value = min(max(value, 0), 1 << 52) + excluded.value
                """),
            insertBatch: try db.prepare(
                """
                INSERT INTO batches (id, session, extras, first_ts, first_seq, last_ts, last_seq, max_seq, min_seq, \
                locations, events, body, is_piece) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """),
            deleteBatch: try db.prepare("DELETE FROM batches WHERE key = ? AND id = ?"),
            updateTail: try db.prepare(
                """
                UPDATE sessions SET last_seq = ?, last_ts = ?, last_lat = ?, last_lng = ?, last_bearing = ?, \
                odometer = ? WHERE key = ?
                """))
    }
}
