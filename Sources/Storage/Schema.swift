internal import SQLite

/// The tables, and the way from each earlier version to the present one.
///
/// `locations` is clustered by `ts` (WITHOUT ROWID), and a range over `ts` reads neighbours. SQLite has no shortcut for
/// appending to such a table: it balances three pages every few rows. With pages of 1024 bytes that is 2.3 frames of the
/// WAL per commit, 6.6 KB of blocks; with 2048 bytes 1.8 frames, 7.9 KB, at the same CPU. A rowid table with an index on
/// `ts` writes 8.5 KB in pages of 2048 bytes, and 12.5 KB in those of 4096. `seq` tells rows of one instant apart and orders
/// them by arrival; it is never reused, also when the table has been drained empty, because `sessions` remembers it.
///
/// The columns of a WITHOUT ROWID table's key must come first: otherwise quick_check of SQLite 3.40 finds "NULL value in
/// rejected.ts" and the like in rows that are sound, and a sound database would be put aside.
enum Schema {
    static let version = Int64(migrations.count)
    /// Of a new database; one that is there keeps its own.
    static let pageSize: Int64 = 1024
    /// "BEEK": tells file(1) and us whose database this is.
    static let applicationID: Int64 = 0x4245_454B

    /// The columns of a location behind its key, in the order of `LocationRow`.
    static let columns = """
        ts, seq, session, id, lat, lng, accuracy, speed, bearing, altitude, mode, "trigger", motion, activity, \
        quality, is_mock, extras, odometer
        """

    private static let locationColumns = """
        session INTEGER NOT NULL, id BLOB NOT NULL,
        lat REAL NOT NULL, lng REAL NOT NULL, accuracy REAL, speed REAL, bearing REAL, altitude REAL,
        mode INTEGER NOT NULL, "trigger" INTEGER NOT NULL, motion INTEGER NOT NULL, activity INTEGER,
        quality INTEGER, is_mock INTEGER NOT NULL, extras INTEGER NOT NULL, odometer REAL NOT NULL
        """

    /// An event names the batch that holds it: there are few of them, and a late one must not slip into a batch that is
    /// frozen already.
    private static let eventColumns = """
        session INTEGER NOT NULL, id BLOB NOT NULL, geofence TEXT NOT NULL, kind INTEGER NOT NULL,
        extras INTEGER NOT NULL
        """

    /// One step a version: the n-th leads from n to n + 1.
    static let migrations = [
        """
        CREATE TABLE locations (ts INTEGER NOT NULL, seq INTEGER NOT NULL, \(locationColumns),
            uploaded INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (ts, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE rejected (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
            \(locationColumns), batch BLOB NOT NULL, http_status INTEGER NOT NULL,
            PRIMARY KEY (rejected_at, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE sessions (key INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
            started_at INTEGER NOT NULL, stopped_at INTEGER,
            first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
            last_ts INTEGER, last_lat REAL, last_lng REAL, last_bearing REAL,
            odometer REAL NOT NULL DEFAULT 0) STRICT;
        CREATE TABLE batches (key INTEGER PRIMARY KEY, id BLOB NOT NULL,
            session INTEGER NOT NULL, extras INTEGER NOT NULL,
            first_ts INTEGER NOT NULL, first_seq INTEGER NOT NULL,
            last_ts INTEGER NOT NULL, last_seq INTEGER NOT NULL, max_seq INTEGER NOT NULL,
            locations INTEGER NOT NULL, body BLOB NOT NULL,
            is_permanent INTEGER NOT NULL DEFAULT 0, is_piece INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE TABLE extras (version INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE) STRICT;
        CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """,
        // Re-queued dead letters get numbers below all others: with this bound none of them can slip into a batch that
        // was frozen before.
        """
        ALTER TABLE batches ADD COLUMN min_seq INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE batches ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN is_tracking INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE sessions ADD COLUMN motion INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN parked_lat REAL;
        ALTER TABLE sessions ADD COLUMN parked_lng REAL;
        ALTER TABLE sessions ADD COLUMN check_in_from INTEGER;
        CREATE TABLE geofence_events (ts INTEGER NOT NULL, seq INTEGER NOT NULL, \(eventColumns),
            uploaded INTEGER NOT NULL DEFAULT 0, batch INTEGER,
            PRIMARY KEY (ts, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE rejected_events (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
            \(eventColumns), batch BLOB NOT NULL, http_status INTEGER NOT NULL,
            PRIMARY KEY (rejected_at, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE geofence_states (key INTEGER PRIMARY KEY, is_inside INTEGER NOT NULL) STRICT;
        """,
        // Which batches became dead letters since the latest acknowledgement: as many of the latest as were counted,
        // and no more than two, since a third one stays frozen. Earlier ones may be at fault themselves; three of them
        // in the queue would raise a suspicion that nothing ends. And, between a clean shutdown and the next start of a
        // large database, the result of counting all its rows.
        """
        CREATE TABLE streak (batch BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
        CREATE TABLE tallies (key INTEGER PRIMARY KEY, pending INTEGER NOT NULL) STRICT;
        INSERT INTO streak (batch) SELECT batch FROM
            (SELECT batch, rejected_at FROM rejected UNION ALL SELECT batch, rejected_at FROM rejected_events)
            GROUP BY batch ORDER BY max(rejected_at) DESC, batch DESC LIMIT
            (SELECT max(0, min(2, coalesce(max(value), 0))) FROM counters WHERE name = 'consecutive_rejections');
        """,
    ]

    /// The columns of all tables, with their types; not the text of the statements, which may be laid out anew.
    static let columnList = """
        SELECT group_concat(line) FROM (SELECT tables.name || '.' || columns.name || ' ' || columns.type || ' '
            || columns."notnull" || columns.pk AS line
            FROM sqlite_schema tables JOIN pragma_table_info(tables.name) columns WHERE tables.type = 'table'
            ORDER BY tables.name, columns.cid)
        """

    /// Whether the tables are those of a database of `version` that we wrote. An empty database is one, too.
    static func isOurs(_ connection: borrowing Connection, version: Int64) throws(SQLiteError) -> Bool {
        let found = try connection.value(columnList) ?? ""
        if found.isEmpty { return version == 0 }
        guard (1...Self.version).contains(version),
            try connection.value("PRAGMA application_id") == "\(applicationID)"
        else { return false }
        let model = try Connection(path: ":memory:", access: .readWrite)
        for step in migrations[..<Int(version)] { try model.execute(step) }
        return try model.value(columnList) == found
    }

    /// `columns` for a database of any version: what its table does not have yet is NULL.
    static func columns(of table: String, in connection: borrowing Connection) throws(SQLiteError) -> String {
        let found = try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
        var names: Set<Substring> = []
        while try found.step() { names.insert(Substring(found.text(0) ?? "")) }
        return columns.split(separator: ", ")
            .map { names.contains($0.drop { $0 == "\"" }.prefix { $0 != "\"" }) ? String($0) : "NULL" }
            .joined(separator: ", ")
    }

    /// The tables whose rows refer to extras, or to a session: those that have the column. Rows in a table missing
    /// from such a list would lose what they refer to, so none is kept by hand.
    ///
    /// - Parameter name: of the column.
    static func tables(naming name: String, in connection: borrowing Connection) throws(SQLiteError)
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

    static func foundVersion(_ connection: borrowing Connection) throws(SQLiteError) -> Int64 {
        Int64(try connection.value("PRAGMA user_version") ?? "") ?? 0
    }

    /// Brings the database to the present version. A later one has been refused by `Quarantine.check`.
    ///
    /// One transaction whatever the number of steps: a power cut leaves the version that was there, or this one.
    static func migrate(
        _ connection: borrowing Connection, steps: [String] = migrations
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
