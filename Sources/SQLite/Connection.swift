internal import CSQLite

/// An open database that closes itself. Not thread-safe: use from one thread at a time. A class, because the values that
/// read and write one table each share it.
public final class Connection {
    /// What may be done to the file.
    public enum Access: Sendable {
        case readWrite, readOnly
        /// For salvage: SQLite then reads even a file that is shorter than it should be. The file is opened for
        /// writing, because its WAL cannot be read otherwise, but nothing is written to it, not even on close.
        case damaged
    }

    /// How long commits take, and who wants to know.
    public struct CommitMeter: Sendable {
        /// The present moment of a steady clock, in nanoseconds.
        let clock: @Sendable () -> Int64
        /// Is told the nanoseconds that COMMIT took, each time it has returned without an error.
        let record: @Sendable (Int64) -> Void

        /// A meter of commits. Both closures are called within each transaction: neither may wait.
        public init(clock: @escaping @Sendable () -> Int64, record: @escaping @Sendable (Int64) -> Void) {
            self.clock = clock
            self.record = record
        }
    }

    /// Measures the commits of `transaction` from now on; nil: nothing is measured.
    public var commitMeter: CommitMeter?
    /// The closure that is asked whether to go on, kept for as long as SQLite may ask.
    private var asked: Asked?
    let handle: OpaquePointer
    /// Prepared once, since every transaction needs them.
    private let begin: OpaquePointer
    private let commit: OpaquePointer
    /// Where SQLite's WAL hook stores the number of pages.
    private let logCount: UnsafeMutablePointer<Int32>

    /// Opens the file; `.readWrite` creates it when missing.
    ///
    /// Symbolic links are refused: the database lies in a directory that only this service should write to, so a link
    /// there was put there by someone else.
    ///
    /// - Parameter vfs: the name of the VFS that gives the file; nil: SQLite's default.
    public init(path: String, access: Access, vfs: String? = nil) throws(SQLiteError) {
        let flags =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
            | (access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, vfs)
        guard code == SQLITE_OK, let opened else {
            let message = String(cString: opened.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
            let systemCode = opened.map { sqlite3_system_errno($0) } ?? 0
            sqlite3_close_v2(opened)
            throw SQLiteError(
                operation: "open " + path, code: ResultCode(rawValue: code), message: message,
                systemCode: systemCode)
        }
        let statements: (begin: OpaquePointer, commit: OpaquePointer)
        do {
            statements = (try Self.compile("BEGIN IMMEDIATE", opened), try Self.compile("COMMIT", opened))
        } catch {
            sqlite3_close_v2(opened)
            throw error
        }
        (begin, commit) = statements
        handle = opened
        logCount = .allocate(capacity: 1)
        logCount.initialize(to: 0)
        // SQL never comes from outside, but the file might: its schema must not reach beyond plain tables.
        if access != .damaged { _ = csqlite_enable_defensive(opened) }
        if access == .damaged {
            _ = csqlite_no_checkpoint_on_close(opened)
            // If the file is too damaged for this, the first statement fails anyway.
            let pragmas = "PRAGMA writable_schema = ON; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF"
            _ = sqlite3_exec(opened, pragmas, nil, nil, nil)
        }
    }

    deinit {
        sqlite3_finalize(begin)
        sqlite3_finalize(commit)
        // The v2 form defers closing until all statements are finalised, in whatever order they are released.
        sqlite3_close_v2(handle)
        logCount.deallocate()
    }

    /// Refuses longer values, which a damaged or hostile file may hold, with SQLITE_TOOBIG.
    ///
    /// - Parameter bytes: of the longest text, blob or row.
    public func limit(values bytes: Int32) {
        _ = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, bytes)
    }

    /// Keeps the WAL when the last connection closes, instead of checkpointing it.
    public func leaveLogOnClose() {
        _ = csqlite_no_checkpoint_on_close(handle)
    }

    /// Asks `isWanted`, every so many steps of a statement, whether to go on; a no ends the statement with SQLITE_INTERRUPT.
    ///
    /// - Parameter isWanted: may wait, for as long as the statement may take.
    public func goOn(every steps: Int32, while isWanted: @escaping () -> Bool) {
        let asked = Asked(isWanted)
        self.asked = asked
        sqlite3_progress_handler(
            handle, steps,
            { context in
                guard let context else { return 0 }
                return Unmanaged<Asked>.fromOpaque(context).takeUnretainedValue().isWanted() ? 0 : 1
            }, Unmanaged.passUnretained(asked).toOpaque())
    }

    private final class Asked {
        let isWanted: () -> Bool
        init(_ isWanted: @escaping () -> Bool) { self.isWanted = isWanted }
    }

    /// Whether the open file is no longer the one at its path, because it was removed or replaced, or something was
    /// mounted over it. Whatever is written to it now is lost.
    public var hasMoved: Bool {
        var answer: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        return code == SQLITE_OK && answer != 0
    }

    /// Disables SQLite's automatic checkpoints, whose failures go unreported, and starts counting `logPages`.
    public func takeOverCheckpoints() throws(SQLiteError) {
        try execute("PRAGMA wal_autocheckpoint = 0")
        csqlite_count_log(handle, logCount)
    }

    /// Releases cached pages, as far as no transaction needs them.
    public func releaseMemory() {
        _ = sqlite3_db_release_memory(handle)
    }

    /// Number of pages in the WAL as of this connection's latest commit.
    public var logPages: Int { Int(logCount.pointee) }

    /// Checkpoints the WAL, as far as readers allow.
    ///
    /// - Parameter milliseconds: how long to wait for readers, so that the WAL restarts from its beginning.
    public func checkpoint(waitingForReaders milliseconds: Int = 0) throws(SQLiteError) {
        if milliseconds > 0 {
            try execute("PRAGMA busy_timeout = \(milliseconds)")
            defer { try? execute("PRAGMA busy_timeout = 0") }
            _ = try value("PRAGMA wal_checkpoint(RESTART)")
        } else {
            _ = try value("PRAGMA wal_checkpoint(PASSIVE)")
        }
        logCount.pointee = 0
    }

    /// Copies the WAL into the database and truncates it to an empty file, so that none of its contents remain.
    ///
    /// - Parameter milliseconds: how long to wait for readers.
    /// - Returns: false when a reader is still using it.
    public func emptyLog(waitingForReaders milliseconds: Int) throws(SQLiteError) -> Bool {
        try execute("PRAGMA busy_timeout = \(milliseconds)")
        defer { try? execute("PRAGMA busy_timeout = 0") }
        guard try value("PRAGMA wal_checkpoint(TRUNCATE)") == "0" else { return false }
        logCount.pointee = 0
        return true
    }

    /// Executes statements that return nothing.
    public func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    /// Prepares one statement for repeated use.
    public func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        Statement(handle: try Self.compile(sql, handle))
    }

    private static func compile(_ sql: String, _ handle: OpaquePointer) throws(SQLiteError) -> OpaquePointer {
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else {
            throw error(code == SQLITE_OK ? SQLITE_MISUSE : code, sql, handle)
        }
        return compiled
    }

    private func run(_ statement: OpaquePointer) throws(SQLiteError) {
        let code = sqlite3_step(statement)
        // Reset repeats the error of the step.
        defer { _ = sqlite3_reset(statement) }
        if code != SQLITE_DONE { throw Self.error(code, String(cString: sqlite3_sql(statement)), handle) }
    }

    /// The first column of the first row, as text; nil when there is no row.
    ///
    /// Steps to the end: `PRAGMA journal_mode = WAL` commits after its row, and a failure would go unnoticed
    /// otherwise.
    public func value(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        guard try statement.step() else { return nil }
        let text = statement.text(0) ?? ""
        while try statement.step() {}
        return text
    }

    /// Number of rows changed by the latest INSERT, UPDATE or DELETE.
    public var changes: Int {
        Int(sqlite3_changes64(handle))
    }

    /// Number of rows inserted, updated or deleted since the connection was opened; unchanged as long as no row has
    /// been.
    public var totalChanges: Int64 {
        sqlite3_total_changes64(handle)
    }

    /// The rowid of the latest row that was inserted; 0 before the first.
    public var lastInsertRowid: Int64 {
        sqlite3_last_insert_rowid(handle)
    }

    /// Whether no transaction is open. SQLite itself rolls back after some errors (SQLITE_FULL, SQLITE_IOERR, …).
    public var isInAutocommit: Bool {
        sqlite3_get_autocommit(handle) != 0
    }

    /// Whether the file could not be opened for writing, or its header forbids this version of SQLite to write, which is
    /// known once it has been read.
    public var isReadOnly: Bool {
        sqlite3_db_readonly(handle, "main") == 1
    }

    /// Runs `body` in an immediate transaction, which is committed on return and rolled back when `body` throws.
    ///
    /// Generic, and so compiled once for each caller: only the call of `body` belongs in here.
    public func transaction<Result: ~Copyable>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try run(begin)
        do {
            let result = try body()
            try commitMeasured()
            return result
        } catch {
            rollBack()
            throw error
        }
    }

    private func commitMeasured() throws(SQLiteError) {
        guard let commitMeter else { return try run(commit) }
        let began = commitMeter.clock()
        try run(commit)
        commitMeter.record(commitMeter.clock() - began)
    }

    private func rollBack() {
        guard !isInAutocommit else { return }
        // If ROLLBACK fails, closing the connection, which follows, ends the transaction.
        try? execute("ROLLBACK")
    }

    private func check(_ code: Int32, _ operation: String) throws(SQLiteError) {
        if code != SQLITE_OK { throw Self.error(code, operation, handle) }
    }

    private static func error(_ code: Int32, _ operation: String, _ handle: OpaquePointer) -> SQLiteError {
        SQLiteError(
            operation: operation, code: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(handle)),
            systemCode: sqlite3_system_errno(handle))
    }
}
