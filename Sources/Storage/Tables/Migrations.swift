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
        // Several destinations. A batch names its members exactly, as runs of rows, so rows that come back keep their
        // numbers. Of a debt, an open range (`last_seq` NULL) holds what is still to come; with `main` alone nothing is
        // written down, and what is not `uploaded` is owed to it. The format of a batch is NULL for `beekon`.
        //
        // `streak`: which batches became dead letters since the latest acknowledgement: as many of the latest as were
        // counted, and no more than two, since a third one stays frozen. Earlier ones may be at fault themselves; three of
        // them in the queue would raise a suspicion that nothing ends. `tallies`: between a clean shutdown and the next
        // start of a large database, the result of counting all its rows.
        //
        // Events of every kind share a table. One without a time yet has the time since boot.
        """
        CREATE TABLE events (seq INTEGER PRIMARY KEY, ts INTEGER, boot_id BLOB, boot_time INTEGER,
            is_estimated INTEGER NOT NULL DEFAULT 0, session INTEGER NOT NULL, id BLOB NOT NULL,
            kind INTEGER NOT NULL, subject TEXT, data TEXT, extras INTEGER NOT NULL,
            lat REAL, lng REAL, accuracy REAL, fence_added_at INTEGER,
            uploaded INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE INDEX events_by_time ON events (ts, seq);
        INSERT OR IGNORE INTO events (seq, ts, session, id, kind, subject, extras, uploaded)
            SELECT seq, ts, session, id, kind, geofence, extras, uploaded FROM geofence_events;
        INSERT INTO events (ts, session, id, kind, subject, extras, uploaded)
            SELECT ts, session, id, kind, geofence, extras, uploaded FROM geofence_events old
            WHERE NOT EXISTS (SELECT 1 FROM events WHERE events.seq = old.seq AND events.id = old.id);
        CREATE TABLE new_rejected (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL, destination TEXT NOT NULL,
            ts INTEGER NOT NULL, session INTEGER NOT NULL, id BLOB NOT NULL, lat REAL NOT NULL, lng REAL NOT NULL,
            accuracy REAL, speed REAL, bearing REAL, altitude REAL, mode INTEGER NOT NULL,
            "trigger" INTEGER NOT NULL, motion INTEGER NOT NULL, activity INTEGER, quality INTEGER,
            is_mock INTEGER NOT NULL, extras INTEGER NOT NULL, odometer REAL NOT NULL, mileage INTEGER,
            batch BLOB NOT NULL, http_status INTEGER NOT NULL,
            PRIMARY KEY (rejected_at, seq, destination)) STRICT, WITHOUT ROWID;
        INSERT INTO new_rejected SELECT rejected_at, seq, 'main', ts, session, id, lat, lng, accuracy, speed, bearing,
            altitude, mode, "trigger", motion, activity, quality, is_mock, extras, odometer, NULL, batch, http_status
            FROM rejected;
        CREATE TABLE new_rejected_events (rejected_at INTEGER NOT NULL, seq INTEGER NOT NULL,
            destination TEXT NOT NULL, ts INTEGER NOT NULL, is_estimated INTEGER NOT NULL DEFAULT 0,
            session INTEGER NOT NULL, id BLOB NOT NULL, kind INTEGER NOT NULL, subject TEXT, data TEXT,
            extras INTEGER NOT NULL, lat REAL, lng REAL, accuracy REAL, fence_added_at INTEGER,
            batch BLOB NOT NULL, http_status INTEGER NOT NULL,
            PRIMARY KEY (rejected_at, seq, destination)) STRICT, WITHOUT ROWID;
        INSERT INTO new_rejected_events (rejected_at, seq, destination, ts, session, id, kind, subject, extras, batch,
            http_status) SELECT rejected_at, seq, 'main', ts, session, id, kind, geofence, extras, batch, http_status
            FROM rejected_events;
        CREATE TABLE new_batches (key INTEGER PRIMARY KEY, destination TEXT NOT NULL, id BLOB NOT NULL,
            format TEXT, request BLOB, session INTEGER NOT NULL, extras INTEGER NOT NULL,
            first_ts INTEGER, first_seq INTEGER, last_ts INTEGER, last_seq INTEGER, runs TEXT, events TEXT,
            body BLOB NOT NULL, cursor INTEGER NOT NULL DEFAULT 0, is_permanent INTEGER NOT NULL DEFAULT 0,
            is_piece INTEGER NOT NULL DEFAULT 0, is_unanswered INTEGER NOT NULL DEFAULT 0) STRICT;
        INSERT INTO new_batches (key, destination, id, session, extras, body, is_permanent, is_piece)
            SELECT key, 'main', id, session, extras, body, is_permanent, is_piece FROM batches;
        WITH members AS (SELECT b.key AS batch, l.ts, l.seq,
                l.seq - lag(l.seq) OVER (PARTITION BY b.key ORDER BY l.ts, l.seq) IS NOT 1 AS is_first
                FROM batches b JOIN locations l ON (l.ts, l.seq) >= (b.first_ts, b.first_seq)
                AND (l.ts, l.seq) <= (b.last_ts, b.last_seq) AND l.seq <= b.max_seq AND l.seq >= b.min_seq
                AND l.session = b.session AND l.extras = b.extras AND l.uploaded = 0),
            numbered AS (SELECT *, sum(is_first) OVER (PARTITION BY batch ORDER BY ts, seq) AS run FROM members),
            found AS (SELECT batch, min(ts) AS first_ts, min(seq) AS first_seq, max(ts) AS last_ts,
                max(seq) AS last_seq FROM numbered GROUP BY batch, run ORDER BY batch, run),
            lists AS (SELECT batch, count(*) AS number, group_concat(
                first_ts || ' ' || first_seq || ' ' || last_ts || ' ' || last_seq, ';') AS list,
                min(first_ts) AS first_ts, max(last_ts) AS last_ts FROM found GROUP BY batch)
            UPDATE new_batches SET first_ts = lists.first_ts, last_ts = lists.last_ts,
                first_seq = (SELECT seq FROM members m WHERE m.batch = key ORDER BY ts, seq LIMIT 1),
                last_seq = (SELECT seq FROM members m WHERE m.batch = key ORDER BY ts DESC, seq DESC LIMIT 1),
                runs = CASE WHEN number > 1 THEN list END
                FROM lists WHERE lists.batch = new_batches.key;
        WITH members AS (SELECT batch, seq, seq - lag(seq) OVER (PARTITION BY batch ORDER BY seq) IS NOT 1 AS is_first
                FROM geofence_events WHERE batch IS NOT NULL AND uploaded = 0),
            numbered AS (SELECT *, sum(is_first) OVER (PARTITION BY batch ORDER BY seq) AS run FROM members),
            found AS (SELECT batch, min(seq) || ' ' || max(seq) AS range FROM numbered GROUP BY batch, run
                ORDER BY batch, run),
            lists AS (SELECT batch, group_concat(range, ';') AS list FROM found GROUP BY batch)
            UPDATE new_batches SET events = list FROM lists WHERE lists.batch = new_batches.key;
        CREATE TABLE streak (destination TEXT NOT NULL, batch BLOB NOT NULL, PRIMARY KEY (destination, batch))
            STRICT, WITHOUT ROWID;
        INSERT INTO streak (destination, batch) SELECT 'main', batch FROM
            (SELECT batch, rejected_at FROM rejected UNION ALL SELECT batch, rejected_at FROM rejected_events)
            GROUP BY batch ORDER BY max(rejected_at) DESC, batch DESC LIMIT
            (SELECT max(0, min(2, coalesce(max(value), 0))) FROM counters WHERE name = 'consecutive_rejections');
        DROP TABLE geofence_events;
        DROP TABLE rejected;
        DROP TABLE rejected_events;
        DROP TABLE batches;
        ALTER TABLE new_rejected RENAME TO rejected;
        ALTER TABLE new_rejected_events RENAME TO rejected_events;
        ALTER TABLE new_batches RENAME TO batches;
        ALTER TABLE locations ADD COLUMN mileage INTEGER;
        ALTER TABLE geofence_states ADD COLUMN entered_at INTEGER;
        CREATE TABLE destinations (name TEXT PRIMARY KEY, orphaned_at INTEGER) STRICT, WITHOUT ROWID;
        CREATE TABLE debts (destination TEXT NOT NULL, kind INTEGER NOT NULL, first_seq INTEGER NOT NULL,
            last_seq INTEGER, PRIMARY KEY (destination, kind, first_seq)) STRICT, WITHOUT ROWID;
        CREATE TABLE tallies (destination TEXT NOT NULL, key INTEGER NOT NULL, pending INTEGER NOT NULL,
            PRIMARY KEY (destination, key)) STRICT, WITHOUT ROWID;
        DELETE FROM counters WHERE name = 'lowest_seq';
        """,
        // The odometer of the last fix, and the trip under way, stand in the row of the session, which is written anyway
        // whenever rows leave: so neither costs a page of its own. A trip is known by its start.
        //
        // The commands of servers, and what came of them. The text goes when a command has been run; the digest tells
        // whether its id comes again with the same content. A position in the result has its time beside it, so that a
        // deletion finds it.
        """
        ALTER TABLE sessions ADD COLUMN mileage INTEGER;
        ALTER TABLE sessions ADD COLUMN trip TEXT;
        CREATE TABLE trips (started_at INTEGER PRIMARY KEY, ended_at INTEGER NOT NULL, start_lat REAL, start_lng REAL,
            end_lat REAL, end_lng REAL, metres REAL NOT NULL, top_speed REAL, idle REAL NOT NULL) STRICT;
        CREATE TABLE commands (seq INTEGER PRIMARY KEY, destination TEXT NOT NULL, id TEXT NOT NULL,
            digest BLOB NOT NULL, batch BLOB NOT NULL, name TEXT NOT NULL, text TEXT,
            received_at INTEGER NOT NULL, counter INTEGER, expires_at INTEGER,
            done_at INTEGER, error TEXT, result TEXT, position_at INTEGER, is_sent INTEGER NOT NULL DEFAULT 0,
            UNIQUE (destination, id, digest)) STRICT;
        """,
        // Not released yet: further changes are added to this one. Nothing reads these columns of batches. The reason is what
        // the server said when it refused rows for good. What the vehicle said of itself is kept with each location; the
        // battery as one number, of `LocationRow`.
        """
        ALTER TABLE batches DROP COLUMN cursor;
        ALTER TABLE batches DROP COLUMN is_unanswered;
        ALTER TABLE rejected ADD COLUMN reason TEXT;
        ALTER TABLE rejected_events ADD COLUMN reason TEXT;
        ALTER TABLE locations ADD COLUMN ignition INTEGER;
        ALTER TABLE locations ADD COLUMN battery INTEGER;
        ALTER TABLE rejected ADD COLUMN ignition INTEGER;
        ALTER TABLE rejected ADD COLUMN battery INTEGER;
        """,
    ]
}
