internal import SQLite

/// The tables in SQLite. Each version is one step, which is never touched once it has shipped.
enum SQLiteSchema {
    /// `BKSV`, in the header of the file: what it is, for `file` and for us.
    static let applicationID = 0x424B_5356

    static let steps = [
        """
        CREATE TABLE devices(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, revoked INTEGER) STRICT;
        CREATE TABLE tokens(
            device INTEGER NOT NULL, hash BLOB NOT NULL, kind INTEGER NOT NULL, created INTEGER NOT NULL,
            expires INTEGER, used INTEGER, parent BLOB, PRIMARY KEY(device, hash)) STRICT, WITHOUT ROWID;
        CREATE TABLE users(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role INTEGER NOT NULL, hash BLOB NOT NULL,
            created INTEGER NOT NULL) STRICT;
        CREATE TABLE batches(
            device INTEGER NOT NULL, id BLOB NOT NULL, received INTEGER NOT NULL, PRIMARY KEY(device, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE extras(
            device INTEGER NOT NULL, digest INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(device, digest)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE locations(
            device INTEGER NOT NULL, time INTEGER NOT NULL, id BLOB NOT NULL, session BLOB NOT NULL,
            latitude REAL NOT NULL, longitude REAL NOT NULL, accuracy REAL, speed REAL, bearing REAL, altitude REAL,
            codes INTEGER NOT NULL, extras INTEGER, PRIMARY KEY(device, time, id)) STRICT, WITHOUT ROWID;
        CREATE TABLE events(
            device INTEGER NOT NULL, time INTEGER NOT NULL, id BLOB NOT NULL, session BLOB NOT NULL,
            kind INTEGER NOT NULL, subject TEXT NOT NULL, extras INTEGER, PRIMARY KEY(device, time, id)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE latest(
            device INTEGER PRIMARY KEY, time INTEGER NOT NULL, id BLOB NOT NULL, latitude REAL NOT NULL,
            longitude REAL NOT NULL, accuracy REAL, speed REAL, bearing REAL, altitude REAL, codes INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE presence(
            device INTEGER PRIMARY KEY, seen INTEGER NOT NULL, install_id BLOB NOT NULL, platform TEXT NOT NULL,
            version TEXT NOT NULL, model TEXT) STRICT;
        """,
        """
        ALTER TABLE presence ADD COLUMN status TEXT;
        ALTER TABLE presence ADD COLUMN status_time INTEGER;
        ALTER TABLE devices ADD COLUMN claim INTEGER;
        CREATE TABLE passwords(
            account INTEGER PRIMARY KEY, salt BLOB NOT NULL, hash BLOB NOT NULL, changed INTEGER NOT NULL) STRICT;
        CREATE TABLE sessions(
            account INTEGER NOT NULL, hash BLOB NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
            PRIMARY KEY(account, hash)) STRICT, WITHOUT ROWID;
        CREATE TABLE claims(
            id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, created INTEGER NOT NULL, expires INTEGER NOT NULL,
            uses INTEGER NOT NULL) STRICT;
        CREATE TABLE commands(
            device INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, arguments TEXT NOT NULL,
            author TEXT NOT NULL, expires INTEGER NOT NULL, offered INTEGER, finished INTEGER, result TEXT,
            PRIMARY KEY(device, number)) STRICT, WITHOUT ROWID;
        CREATE INDEX commands_waiting ON commands(device, number) WHERE finished IS NULL;
        CREATE TABLE vehicle_events(
            device INTEGER NOT NULL, time INTEGER NOT NULL, id BLOB NOT NULL, session BLOB NOT NULL,
            kind TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY(device, time, id)) STRICT, WITHOUT ROWID;
        CREATE TABLE logs(
            device INTEGER NOT NULL, received INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(device, received)
        ) STRICT;
        """,
        """
        CREATE TABLE clock(
            id INTEGER PRIMARY KEY, guarded INTEGER NOT NULL, running INTEGER NOT NULL, watcher INTEGER NOT NULL,
            turn INTEGER NOT NULL, leap INTEGER, held INTEGER NOT NULL, synchronised INTEGER NOT NULL) STRICT;
        CREATE TABLE votes(
            device INTEGER PRIMARY KEY, sent_at INTEGER NOT NULL, running INTEGER NOT NULL) STRICT;
        ALTER TABLE presence ADD COLUMN counter INTEGER;
        UPDATE presence SET counter = seen;
        CREATE TABLE installations(
            device INTEGER NOT NULL, id BLOB NOT NULL, state INTEGER NOT NULL, since INTEGER NOT NULL,
            PRIMARY KEY (device, id)) STRICT, WITHOUT ROWID;
        ALTER TABLE devices ADD COLUMN shown_again INTEGER;
        ALTER TABLE devices ADD COLUMN enrolment BLOB;
        CREATE TABLE ahead(device INTEGER PRIMARY KEY, since INTEGER NOT NULL, time INTEGER NOT NULL) STRICT;
        ALTER TABLE tokens ADD COLUMN pair INTEGER;
        ALTER TABLE tokens ADD COLUMN ended INTEGER;
        CREATE TABLE ended_tokens(
            device INTEGER NOT NULL, hash BLOB NOT NULL, ended INTEGER NOT NULL, PRIMARY KEY (device, hash)) STRICT, WITHOUT ROWID;
        UPDATE tokens SET pair = r.place FROM (
            SELECT device, hash, dense_rank() OVER (
                PARTITION BY device ORDER BY created, coalesce(parent, x'')) AS place FROM tokens) AS r
            WHERE r.device = tokens.device AND r.hash = tokens.hash;
        UPDATE tokens SET used = r.first FROM (
            SELECT device, pair, min(used) AS first FROM tokens WHERE used IS NOT NULL GROUP BY device, pair) AS r
            WHERE r.device = tokens.device AND r.pair = tokens.pair AND tokens.used IS NULL;
        UPDATE tokens SET ended = r.first FROM (
            SELECT p.device, p.pair, min(c.used) AS first FROM tokens p
                JOIN tokens c ON c.device = p.device AND c.parent = p.hash
            WHERE c.used IS NOT NULL GROUP BY p.device, p.pair) AS r
            WHERE r.device = tokens.device AND r.pair = tokens.pair;
        INSERT INTO ended_tokens SELECT device, hash, ended FROM tokens WHERE kind = 2 AND ended IS NOT NULL;
        DELETE FROM tokens WHERE kind = 2 AND ended IS NOT NULL;
        CREATE TABLE numbers(kind TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO numbers SELECT 'claim', 1 + max(
            coalesce((SELECT max(id) FROM claims), 0), coalesce((SELECT max(claim) FROM devices), 0));
        INSERT INTO numbers SELECT 'user', 1 + max(
            coalesce((SELECT max(id) FROM users), 0), coalesce((SELECT max(account) FROM passwords), 0),
            coalesce((SELECT max(account) FROM sessions), 0));
        ALTER TABLE batches ADD COLUMN digest INTEGER;
        ALTER TABLE extras ADD COLUMN newest INTEGER;
        UPDATE extras SET newest = max(
            coalesce((SELECT max(time) FROM locations l WHERE l.device = extras.device), 0),
            coalesce((SELECT max(time) FROM events e WHERE e.device = extras.device), 0));
        CREATE INDEX extras_newest ON extras(newest);
        """,
        """
        ALTER TABLE devices ADD COLUMN plate TEXT;
        ALTER TABLE devices ADD COLUMN note TEXT;
        ALTER TABLE devices ADD COLUMN fleet_group INTEGER;
        ALTER TABLE devices ADD COLUMN removed INTEGER;
        CREATE INDEX devices_group ON devices(fleet_group) WHERE fleet_group IS NOT NULL;
        CREATE TABLE fleet_groups(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL) STRICT;
        CREATE TABLE user_groups(
            account INTEGER NOT NULL, fleet_group INTEGER NOT NULL, PRIMARY KEY (account, fleet_group)) STRICT, WITHOUT ROWID;
        CREATE TABLE links(
            device INTEGER NOT NULL, id INTEGER NOT NULL, hash BLOB NOT NULL, created INTEGER NOT NULL,
            expires INTEGER NOT NULL, author TEXT NOT NULL, PRIMARY KEY (device, id)) STRICT, WITHOUT ROWID;
        CREATE TABLE removals(device INTEGER PRIMARY KEY, since INTEGER NOT NULL) STRICT;
        INSERT INTO numbers VALUES ('fleet', 1), ('group', 1), ('link', 1);
        """,
        """
        ALTER TABLE claims ADD COLUMN allow TEXT;
        ALTER TABLE claims ADD COLUMN settings TEXT;
        """,
        """
        CREATE INDEX events_time ON events(time, id);
        CREATE INDEX vehicle_events_time ON vehicle_events(time, id);
        CREATE TABLE alert_conditions(
            device INTEGER NOT NULL, rule INTEGER NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (device, rule)) STRICT, WITHOUT ROWID;
        CREATE TABLE alert_watches(
            rule INTEGER PRIMARY KEY, since INTEGER NOT NULL, round INTEGER NOT NULL, heard INTEGER NOT NULL) STRICT;
        INSERT INTO numbers VALUES ('rules', 1);
        CREATE TABLE alert_rules(
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, settings TEXT NOT NULL,
            fleet_group INTEGER, device INTEGER, webhook TEXT, secret TEXT, mail TEXT, mail_interval INTEGER NOT NULL,
            mailed INTEGER, created INTEGER NOT NULL, author TEXT NOT NULL) STRICT;
        CREATE TABLE alerts(
            device INTEGER NOT NULL, id BLOB NOT NULL, rule INTEGER NOT NULL, time INTEGER NOT NULL,
            created INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, object TEXT NOT NULL, due INTEGER,
            attempts INTEGER NOT NULL, done INTEGER, failed INTEGER, reason TEXT, mail INTEGER,
            PRIMARY KEY (device, id)) STRICT, WITHOUT ROWID;
        CREATE INDEX alerts_due ON alerts(rule, due) WHERE due IS NOT NULL;
        CREATE INDEX alerts_mail ON alerts(mail, rule) WHERE mail IS NOT NULL;
        CREATE INDEX alerts_created ON alerts(created);
        CREATE INDEX alerts_time ON alerts(time);
        CREATE INDEX alerts_failed ON alerts(failed) WHERE failed IS NOT NULL;
        CREATE TABLE alert_mails(
            id INTEGER PRIMARY KEY, rule INTEGER NOT NULL, created INTEGER NOT NULL, message TEXT, accepted INTEGER,
            done INTEGER) STRICT;
        CREATE INDEX alert_mails_waiting ON alert_mails(rule) WHERE done IS NULL;
        CREATE TABLE alert_recipients(
            mail INTEGER NOT NULL, address TEXT NOT NULL, due INTEGER, attempts INTEGER NOT NULL,
            handed INTEGER NOT NULL, done INTEGER, failed INTEGER, reason TEXT,
            PRIMARY KEY (mail, address)) STRICT, WITHOUT ROWID;
        CREATE INDEX alert_recipients_due ON alert_recipients(mail, due) WHERE due IS NOT NULL;
        CREATE INDEX alert_recipients_failed ON alert_recipients(failed) WHERE failed IS NOT NULL;
        INSERT INTO numbers VALUES ('mail', 1), ('rule', 1);
        CREATE TABLE fences(
            number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, shape TEXT NOT NULL, author TEXT NOT NULL,
            created INTEGER NOT NULL, changed INTEGER NOT NULL) STRICT;
        CREATE TABLE fence_targets(
            fence INTEGER NOT NULL, kind INTEGER NOT NULL, target INTEGER NOT NULL, PRIMARY KEY (fence, kind, target)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE device_fences(
            device INTEGER PRIMARY KEY, digest INTEGER NOT NULL, progress TEXT NOT NULL) STRICT;
        INSERT INTO numbers VALUES ('fence', 1);
        """,
        """
        CREATE TABLE changes(number INTEGER PRIMARY KEY, devices TEXT NOT NULL) STRICT;
        CREATE TABLE revocations(
            device INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (device, number)) STRICT, WITHOUT ROWID;
        INSERT INTO numbers VALUES ('revocation', 1);
        CREATE TABLE outbox(
            number INTEGER PRIMARY KEY AUTOINCREMENT, device INTEGER NOT NULL, target TEXT NOT NULL,
            tx INTEGER NOT NULL DEFAULT 0, id TEXT NOT NULL, received INTEGER NOT NULL, rows INTEGER NOT NULL,
            size INTEGER NOT NULL, packed INTEGER NOT NULL, due INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0, reason TEXT, body BLOB NOT NULL) STRICT;
        CREATE INDEX outbox_device ON outbox(device);
        CREATE INDEX outbox_order ON outbox(target, tx, number);
        CREATE TABLE outbox_counts(
            target TEXT NOT NULL, result TEXT NOT NULL, batches INTEGER NOT NULL, rows INTEGER NOT NULL,
            PRIMARY KEY (target, result)) STRICT, WITHOUT ROWID;
        CREATE TABLE outbox_troubles(
            target TEXT PRIMARY KEY, since INTEGER NOT NULL, reason TEXT NOT NULL) STRICT, WITHOUT ROWID;
        """,
    ]

    /// - Throws: when it is none of ours, or one of a later version.
    /// - Returns: the version of its tables.
    @discardableResult
    static func identify(_ connection: Connection, mayBeEmpty: Bool = false) throws(SQLiteError) -> Int {
        let identity = Int(try connection.value("PRAGMA application_id") ?? "") ?? 0
        let version = Int(try connection.value("PRAGMA user_version") ?? "") ?? 0
        let tables = try connection.value("SELECT count(*) FROM sqlite_schema") ?? ""
        guard identity == applicationID || (mayBeEmpty && identity == 0 && tables == "0") else {
            throw refusal("the file is a database of another program")
        }
        guard version <= steps.count else {
            throw refusal("the file was made by a newer beekon-server (schema \(version))")
        }
        return version
    }

    static func upgrade(_ connection: Connection) throws(SQLiteError) {
        let version = try identify(connection, mayBeEmpty: true)
        guard version < steps.count else { return }
        try connection.transaction { () throws(SQLiteError) in
            for step in steps[version...] { try connection.execute(step) }
            try connection.execute("PRAGMA application_id = \(applicationID)")
            try connection.execute("PRAGMA user_version = \(steps.count)")
        }
    }

    private static func refusal(_ message: String) -> SQLiteError {
        // SQLITE_ERROR: nothing that another try would change.
        SQLiteError(operation: "open", code: ResultCode(rawValue: 1), message: message)
    }
}
