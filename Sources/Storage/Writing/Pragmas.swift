internal import SQLite

/// How the write connection is configured. Every pragma is set explicitly, whatever this build of SQLite has as its
/// default, and read back.
enum Pragmas {
    /// Bytes for dead letters and batches, in addition to the rows.
    private static let workingRoom: Int64 = 64 << 20

    private typealias Pragma = (set: String, name: String, expected: String?)

    static func configure(_ db: Connection, _ options: StoreOptions) throws(SQLiteError) {
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

    /// Applies what may change while the database is open.
    static func change(
        _ db: Connection, from old: StoreOptions, to new: StoreOptions
    ) throws(SQLiteError) {
        if new.durability != old.durability { try set(synchronous(new), db) }
        _ = try db.value("PRAGMA max_page_count = \(try pageLimit(db, new))")
    }

    private static func synchronous(_ options: StoreOptions) -> Pragma {
        let level = options.durability == .full ? 2 : 1
        return ("synchronous = \(level)", "synchronous", "\(level)")
    }

    private static func set(_ pragma: Pragma, _ db: Connection) throws(SQLiteError) {
        _ = try db.value("PRAGMA " + pragma.set)
        let found = try db.value("PRAGMA " + pragma.name)
        guard let expected = pragma.expected, found != expected else { return }
        throw SQLiteError(
            operation: "PRAGMA " + pragma.set, code: .ioError,
            message: "SQLite answers \(pragma.name) = \(found ?? "nothing"), but \(expected) was asked for")
    }

    /// A kilobyte per row is several times what they take. Where there are far more rows than the cap allows, because
    /// it has been lowered, there must still be room to freeze and acknowledge; free pages of the file are part of
    /// it.
    private static func pageLimit(_ db: Connection, _ options: StoreOptions) throws(SQLiteError) -> Int64 {
        let pageSize = max(try number("page_size", db), 512)
        let used = try number("page_count", db) - number("freelist_count", db)
        return max(
            (workingRoom + Int64(options.maxRows) * 1024) / pageSize, used + workingRoom / pageSize)
    }

    static func number(_ name: String, _ db: Connection) throws(SQLiteError) -> Int64 {
        Int64(try db.value("PRAGMA " + name) ?? "") ?? 0
    }
}
