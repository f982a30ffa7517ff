internal import SQLite

/// The tables, and the way from each earlier version to the present one.
///
/// `locations` is clustered by `ts` (WITHOUT ROWID), and a range over `ts` reads neighbours. SQLite has no shortcut for
/// appending to such a table: it balances three pages every few rows. With pages of 1024 bytes that is 2.3 frames of the
/// WAL per commit, 6.6 KB of blocks; with 2048 bytes 1.8 frames, 7.9 KB, at the same CPU. A rowid table with an index on
/// `ts` writes 8.5 KB in pages of 2048 bytes, and 12.5 KB in those of 4096. `seq` distinguishes rows of the same instant and
/// orders them by arrival; it is never reused, even after the table has been emptied, because `sessions` records it.
///
/// The columns of a WITHOUT ROWID table's key must come first: otherwise quick_check of SQLite 3.40 finds "NULL value in
/// rejected.ts" and the like in rows that are sound, and a sound database would be moved aside.
enum Schema {
    static let version = Int64(migrations.count)
    /// Page size of a new database; one that is there keeps its own.
    static let pageSize: Int64 = 1024
    /// "BEEK": identifies the database to file(1) and to us.
    static let applicationID: Int64 = 0x4245_454B

    /// The columns of a location behind its key, in the order of `LocationRow`.
    static let columns = """
        ts, seq, session, id, lat, lng, accuracy, speed, bearing, altitude, mode, "trigger", motion, activity, \
        quality, is_mock, extras, odometer, mileage, ignition, battery
        """
    /// How many these are.
    static let columnCount = Int32(columns.split(separator: ",").count)

    /// The columns of all tables, with their types; not the text of the statements, which may be laid out anew.
    static let columnList = """
        SELECT group_concat(line) FROM (SELECT tables.name || '.' || columns.name || ' ' || columns.type || ' '
            || columns."notnull" || columns.pk AS line
            FROM sqlite_schema tables JOIN pragma_table_info(tables.name) columns WHERE tables.type = 'table'
            ORDER BY tables.name, columns.cid)
        """

    /// Whether the tables are those of a database of `version` that we wrote. An empty database is one, too.
    static func isOurs(_ connection: Connection, version: Int64) throws(SQLiteError) -> Bool {
        let found = try connection.value(columnList) ?? ""
        if found.isEmpty { return version == 0 }
        guard (1...Self.version).contains(version),
            try connection.value("PRAGMA application_id") == "\(applicationID)"
        else { return false }
        let model = try Connection(path: ":memory:", access: .readWrite)
        try make(version: version, in: model)
        return try model.value(columnList) == found
    }

    /// `columns` for a database of any version: what its table does not have yet is NULL.
    static func columns(of table: String, in connection: Connection) throws(SQLiteError) -> String {
        let found = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
        var names: Set<Substring> = []
        while try found.step() { names.insert(Substring(found.text(0) ?? "")) }
        return columns.split(separator: ", ")
            .map { names.contains($0.drop { $0 == "\"" }.prefix { $0 != "\"" }) ? String($0) : "NULL" }
            .joined(separator: ", ")
    }

    /// The tables with a column of this name: those whose rows refer to extras, or to a session. Rows in a table that is
    /// missing from such a list would lose what they refer to, so none is kept by hand.
    static func tables(naming name: String, in connection: Connection) throws(SQLiteError)
        -> [String]
    {
        let found = try connection.prepare(
            """
            SELECT tables.name FROM sqlite_schema tables JOIN pragma_table_info(tables.name) columns \
            WHERE tables.type = 'table' AND columns.name = ? ORDER BY tables.name
            """)
        try found.bind([.text(name)])
        var tables: [String] = []
        while try found.step() { tables.append(found.text(0) ?? "") }
        return tables
    }

    /// The time of the newest location; without one, that of the newest event, and so on through the tables.
    static func newestTime(in connection: Connection) throws(SQLiteError) -> Int64? {
        let pending = RecordKind.all.map { "(SELECT MAX(ts) FROM \($0.table))" }
        let rejected = RecordKind.all.map { "(SELECT MAX(rejected_at) FROM \($0.rejected))" }
        let newest = try connection.value("SELECT coalesce(\((pending + rejected).joined(separator: ", ")))")
        return newest.flatMap { Int64($0) }
    }

    /// Makes the tables of a version in an empty database.
    static func make(version: Int64, in connection: Connection) throws(SQLiteError) {
        for step in migrations.prefix(Int(version)) { try connection.execute(step) }
        try connection.execute("PRAGMA user_version = \(version)")
    }

    static func foundVersion(_ connection: Connection) throws(SQLiteError) -> Int64 {
        Int64(try connection.value("PRAGMA user_version") ?? "") ?? 0
    }

    /// Brings the database to the present version. A later one has been refused by `Quarantine.check`.
    ///
    /// One transaction whatever the number of steps: a power cut leaves the version that was there, or this one.
    static func migrate(
        _ connection: Connection, steps: [String] = migrations
    ) throws(StorageError) {
        do throws(SQLiteError) {
            let found = try foundVersion(connection)
            guard found < steps.count else { return }
            try connection.transaction { () throws(SQLiteError) in
                for step in steps[Int(max(found, 0))...] { try connection.execute(step) }
                try connection.execute("PRAGMA application_id = \(applicationID)")
                try connection.execute("PRAGMA user_version = \(steps.count)")
            }
        } catch {
            throw StorageError(error)
        }
    }
}
