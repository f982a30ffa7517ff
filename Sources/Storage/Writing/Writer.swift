internal import Base
internal import Linux
internal import SQLite

/// The single write connection: the tables, and the ledger of what is in them. Transactions are made here only; what one
/// has changed is entered in the ledger after its COMMIT has returned.
struct Writer: ~Copyable {
    let db: Connection
    let tables: Tables
    var ledger = Ledger()
    private(set) var options: StoreOptions
    /// Rows that there were when the database was opened.
    private var rowsAtOpen = 0
    /// Whether the recorded state of each session is complete, except for the current one.
    private(set) var tailsAreWritten = false

    /// Pages in the WAL at which a checkpoint is made: 2 MB, or twice that with pages of 2048 bytes.
    static let checkpointPages = 2000
    /// At so many times that length each write of a fix waits for readers, for so many milliseconds.
    private static let longLog = 4
    private static let readerPatience = 20

    /// Locations kept at most.
    var rowLimit: Int { options.holdsRows ? max(options.maxRows, rowsAtOpen) : options.maxRows }

    /// Opens and, where needed, creates the database at `path`.
    static func open(_ path: String, options: StoreOptions) throws(StorageError) -> Writer {
        do {
            let db = try Connection(path: path, access: .readWrite)
            try Pragmas.configure(db, options)
            try Schema.migrate(db)
            var writer = Writer(db: db, tables: try Tables(db), options: options)
            try writer.load()
            writer.rowsAtOpen = writer.ledger.locations.rows
            // The names of the database and its WAL. SQLite syncs them, too, but does not look at the result.
            try StateDirectory.synchronise(Quarantine.directory(of: path))
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

    private init(db: Connection, tables: consuming Tables, options: StoreOptions) {
        self.db = db
        self.tables = tables
        self.options = options
    }

    /// Applies other options.
    mutating func apply(_ options: StoreOptions) throws(SQLiteError) {
        let former = self.options
        self.options = options
        try Pragmas.change(db, from: former, to: options)
    }

    /// Makes a checkpoint once the WAL is long enough.
    func checkpointIfDue(pages: Int = checkpointPages) throws(SQLiteError) {
        guard db.logPages >= pages else { return }
        // While history is being read the WAL can only be used again between two pages: wait for that before it grows.
        let isLong = db.logPages >= Self.longLog * pages
        try db.checkpoint(waitingForReaders: isLong ? Self.readerPatience : 0)
    }

    /// A transaction in which deleted data is overwritten with zeros, not only unlinked.
    func securely<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try db.execute("PRAGMA secure_delete = ON")
        defer { try? db.execute("PRAGMA secure_delete = OFF") }
        return try db.transaction(body)
    }

    /// Must be part of every transaction that may delete the newest row of the current session.
    func writeTail() throws(SQLiteError) {
        try tables.sessions.writeTail(of: ledger.sessions.current)
    }

    // MARK: What is in the database

    mutating func load() throws(SQLiteError) {
        ledger.sessions = KnownSessions(try tables.sessions.ids())
        let counted = try consumeTallies()
        tailsAreWritten = counted != nil
        let counts = try tailsAreWritten ? [] : tables.locations.counts()
        if let counted { ledger.locations = counted } else { try count(counts) }
        var numbers = Ledger.Numbers()
        numbers.lowest = Bounded.lowestSeq(try tables.counters.value(Counters.lowestSeq))
        ledger.locations.count(rejected: try tables.deadLetters.count(.locations))
        try countEvents()
        for bounds in try tables.counters.deletions() { numbers.cover(Ledger.Numbers(past: bounds)) }
        ledger.cover(numbers)
        ledger.losses = try tables.counters.losses()
        ledger.hasStreak = try tables.deadLetters.hasStreak
        ledger.extras = KnownExtras(try tables.extras.all())
        // At each start that checks the rows anyway: they would pile up where they change often.
        if !tailsAreWritten, ledger.extras.versions.count > KnownExtras.startLimit {
            try forgetUnusedExtras()
        }
        ledger.queue.replace(with: try tables.batches.all())
        guard !tailsAreWritten else { return }
        try findOldestPending(from: .first)
        // Its rows may leave before it is entered again.
        for session in try tables.sessions.lagging(counts) {
            ledger.sessions.current = try tables.sessions.load(session, tailIsWritten: false)
        }
    }

    private mutating func count(_ counts: [SessionCount]) throws(SQLiteError) {
        let lastSeq = max(try tables.sessions.lastSeq(), try tables.deadLetters.lastLocationSeq())
        ledger.locations.reset(to: counts, rejected: 0, lastSeq: lastSeq)
    }

    /// Counts the events and those that are dead letters.
    mutating func countEvents() throws(SQLiteError) {
        let counts = try tables.events.counts()
        let letters = try tables.deadLetters.eventCount()
        ledger.events.reset(to: counts, rejected: letters.count, lastSeq: letters.lastSeq)
        try findOldestPendingEvent()
    }

    /// Looks for the oldest pending location at or after `start`.
    mutating func findOldestPending(from start: RowKey) throws(SQLiteError) {
        ledger.locations.oldestPending = try tables.locations.oldestPending(from: start)
    }

    mutating func findOldestPendingEvent() throws(SQLiteError) {
        let hasPending = ledger.events.rows > ledger.events.uploaded
        ledger.events.oldestPending = hasPending ? try tables.events.oldestPending() : nil
    }
}
