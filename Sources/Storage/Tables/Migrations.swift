/// The way to the present tables, as literal text. Never change a step that has been released, not even its layout:
/// SQLite keeps the text in the database, and a test pins it. A change of the schema is another step at the end.
extension Schema {
    /// The n-th leads from version n to n + 1.
    static let migrations = [
        """
        CREATE TABLE locations (ts INTEGER NOT NULL, seq INTEGER NOT NULL, session INTEGER NOT NULL, id BLOB NOT NULL,
        lat REAL NOT NULL, lng REAL NOT NULL, accuracy REAL, speed REAL, bearing REAL, altitude REAL,
        mode INTEGER NOT NULL, "trigger" INTEGER NOT NULL, motion INTEGER NOT NULL, activity INTEGER,
        quality INTEGER, is_mock INTEGER NOT NULL, extras INTEGER NOT NULL, odometer REAL NOT NULL,
            uploaded INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (ts, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE rejected (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
            session INTEGER NOT NULL, id BLOB NOT NULL,
        lat REAL NOT NULL, lng REAL NOT NULL, accuracy REAL, speed REAL, bearing REAL, altitude REAL,
        mode INTEGER NOT NULL, "trigger" INTEGER NOT NULL, motion INTEGER NOT NULL, activity INTEGER,
        quality INTEGER, is_mock INTEGER NOT NULL, extras INTEGER NOT NULL, odometer REAL NOT NULL, batch BLOB NOT NULL, \
        http_status INTEGER NOT NULL,
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
        // An event names the batch that holds it: there are few of them, and a late one must not slip into a batch that
        // is frozen already. Re-queued dead letters get numbers below all others: because of `min_seq` none of them can
        // slip into a batch that was frozen before.
        """
        ALTER TABLE batches ADD COLUMN min_seq INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE batches ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN is_tracking INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE sessions ADD COLUMN motion INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE sessions ADD COLUMN parked_lat REAL;
        ALTER TABLE sessions ADD COLUMN parked_lng REAL;
        ALTER TABLE sessions ADD COLUMN check_in_from INTEGER;
        CREATE TABLE geofence_events (ts INTEGER NOT NULL, seq INTEGER NOT NULL, session INTEGER NOT NULL, \
        id BLOB NOT NULL, geofence TEXT NOT NULL, kind INTEGER NOT NULL,
        extras INTEGER NOT NULL,
            uploaded INTEGER NOT NULL DEFAULT 0, batch INTEGER,
            PRIMARY KEY (ts, seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE rejected_events (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL,
            session INTEGER NOT NULL, id BLOB NOT NULL, geofence TEXT NOT NULL, kind INTEGER NOT NULL,
        extras INTEGER NOT NULL, batch BLOB NOT NULL, http_status INTEGER NOT NULL,
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
}
