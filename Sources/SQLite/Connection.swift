internal import CSQLite

/// An open database that closes itself. One thread at a time.
public struct Connection: ~Copyable {
    /// What a connection may do with the file.
    public enum Access: Sendable {
        case readWrite, readOnly
        /// To save what can be saved: SQLite then reads also a file that is shorter than it should be. The file is opened
        /// for writing, because its WAL cannot be followed otherwise, but nothing is written to it, also when it closes.
        case damaged
    }

    let handle: OpaquePointer
    /// Compiled once: every transaction needs them.
    private let begin: OpaquePointer
    private let commit: OpaquePointer
    /// Where SQLite notes how long the WAL is.
    private let logCount: UnsafeMutablePointer<Int32>

    /// Opens the file; with `.readWrite` it is made when missing.
    ///
    /// Symbolic links are refused: the database lies in a directory that only we should write to, and a link there is
    /// somebody else's doing.
    public init(path: String, access: Access) throws(SQLiteError) {
        let flags =
            SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
            | (access == .readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, flags, nil)
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
        // SQL never comes from outside, but the file might: no schema in it may reach beyond plain tables.
        if access != .damaged { _ = csqlite_enable_defensive(opened) }
        if access == .damaged {
            _ = csqlite_no_checkpoint_on_close(opened)
            // A file too damaged for this fails at the first statement anyway.
            let pragmas = "PRAGMA writable_schema = ON; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF"
            _ = sqlite3_exec(opened, pragmas, nil, nil, nil)
        }
    }

    deinit {
        sqlite3_finalize(begin)
        sqlite3_finalize(commit)
        // The v2 form waits for statements that are still to be finalised, whatever order they are dropped in.
        sqlite3_close_v2(handle)
        logCount.deallocate()
    }

    /// Closing the last connection then leaves the WAL as it is, instead of folding it into the database.
    public func leaveLogOnClose() {
        _ = csqlite_no_checkpoint_on_close(handle)
    }

    /// The file that is open is not, or no longer, the one that has its name: it was removed or replaced, or something was
    /// mounted over it. Whatever is written to it now, nobody finds again.
    public var hasMoved: Bool {
        var answer: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &answer)
        return code == SQLITE_OK && answer != 0
    }

    /// From now on `logPages` is known, and SQLite makes no checkpoints by itself: it would keep their failures to itself.
    public func takeOverCheckpoints() throws(SQLiteError) {
        try execute("PRAGMA wal_autocheckpoint = 0")
        csqlite_count_log(handle, logCount)
    }

    /// Frees the cache, as far as no transaction needs it.
    public func releaseMemory() {
        _ = sqlite3_db_release_memory(handle)
    }

    /// Pages in the WAL since this connection's latest commit.
    public var logPages: Int { Int(logCount.pointee) }

    /// Folds the WAL into the database, as far as nobody else reads it.
    ///
    /// - Parameter milliseconds: how long to wait for readers, so that the WAL is used from its start again.
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

    /// Folds the WAL into the database and makes it an empty file, so that nothing of what it held stays behind.
    ///
    /// - Parameter milliseconds: how long to wait for readers.
    /// - Returns: false when one of them still holds on to it.
    public func emptyLog(waitingForReaders milliseconds: Int) throws(SQLiteError) -> Bool {
        try execute("PRAGMA busy_timeout = \(milliseconds)")
        defer { try? execute("PRAGMA busy_timeout = 0") }
        guard try value("PRAGMA wal_checkpoint(TRUNCATE)") == "0" else { return false }
        logCount.pointee = 0
        return true
    }

    /// Runs statements that return nothing.
    public func execute(_ sql: String) throws(SQLiteError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    /// Compiles one statement, to be kept and used again.
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
        // Says again what the step has said.
        defer { _ = sqlite3_reset(statement) }
        if code != SQLITE_DONE { throw Self.error(code, String(cString: sqlite3_sql(statement)), handle) }
    }

    /// The first column of the first row, as text; nil when there is no row.
    ///
    /// Runs to the end: `PRAGMA journal_mode = WAL` commits behind its row, and would else fail unseen.
    public func value(_ sql: String) throws(SQLiteError) -> String? {
        let statement = try prepare(sql)
        guard try statement.step() else { return nil }
        let text = statement.text(0) ?? ""
        while try statement.step() {}
        return text
    }

    /// Rows that the latest INSERT, UPDATE or DELETE changed.
    public var changes: Int {
        Int(sqlite3_changes64(handle))
    }

    /// Rows that have been inserted, updated or deleted since the connection was opened. When it has not changed, nothing has.
    public var totalChanges: Int64 {
        sqlite3_total_changes64(handle)
    }

    /// The rowid of the latest INSERT into a table that has them.
    public var lastInsertRowid: Int64 {
        sqlite3_last_insert_rowid(handle)
    }

    /// No transaction is open. SQLite itself rolls back after some errors (SQLITE_FULL, SQLITE_IOERR, …).
    public var isInAutocommit: Bool {
        sqlite3_get_autocommit(handle) != 0
    }

    /// The file cannot be written to, or says in its header that this SQLite may not. Known once it has been read.
    public var isReadOnly: Bool {
        sqlite3_db_readonly(handle, "main") == 1
    }

    /// Runs `body` in an immediate transaction: it is committed when this returns and rolled back when it throws.
    public func transaction<Result: ~Copyable>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(SQLiteError) -> Result {
        try run(begin)
        do {
            let result = try body()
            try run(commit)
            return result
        } catch {
            if !isInAutocommit {
                // A failed ROLLBACK leaves the transaction to the close of the connection, which follows.
                try? execute("ROLLBACK")
            }
            throw error
        }
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
