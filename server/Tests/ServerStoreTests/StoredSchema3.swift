extension SQLiteExamples {
    /// What the third made of the second.
    static let step3 = """
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

        """
}

extension PostgresExamples {
    /// What the third made of the second.
    static let step3 = """
        CREATE TABLE clock(
            id bigint PRIMARY KEY, guarded bigint NOT NULL, running bigint NOT NULL, watcher bigint NOT NULL,
            turn bigint NOT NULL, leap bigint, held bigint NOT NULL, synchronised bigint NOT NULL);
        CREATE TABLE votes(device bigint PRIMARY KEY, sent_at bigint NOT NULL, running bigint NOT NULL);
        ALTER TABLE presence ADD COLUMN counter bigint;
        UPDATE presence SET counter = seen;
        CREATE TABLE installations(
            device bigint NOT NULL, id uuid NOT NULL, state bigint NOT NULL, since bigint NOT NULL,
            PRIMARY KEY (device, id));
        ALTER TABLE devices ADD COLUMN shown_again bigint;
        ALTER TABLE devices ADD COLUMN enrolment bytea;
        CREATE TABLE ahead(device bigint PRIMARY KEY, since bigint NOT NULL, time bigint NOT NULL);
        CREATE TABLE weeks(device bigint PRIMARY KEY, room double precision NOT NULL, since bigint NOT NULL);
        ALTER TABLE tokens ADD COLUMN pair bigint;
        ALTER TABLE tokens ADD COLUMN ended bigint;
        CREATE TABLE ended_tokens(
            device bigint NOT NULL, hash bytea NOT NULL, ended bigint NOT NULL, PRIMARY KEY (device, hash));
        UPDATE tokens SET pair = r.place FROM (
            SELECT device, hash, dense_rank() OVER (
                PARTITION BY device ORDER BY created, coalesce(parent, ''::bytea)) AS place FROM tokens) AS r
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
        CREATE TABLE numbers(kind text PRIMARY KEY, next bigint NOT NULL);
        INSERT INTO numbers SELECT 'claim', greatest(
            nextval(pg_get_serial_sequence('claims', 'id')), 1 + (SELECT max(id) FROM claims),
            1 + (SELECT max(claim) FROM devices));
        INSERT INTO numbers SELECT 'user', greatest(
            nextval(pg_get_serial_sequence('users', 'id')), 1 + (SELECT max(id) FROM users),
            1 + (SELECT max(account) FROM passwords), 1 + (SELECT max(account) FROM sessions));
        ALTER TABLE claims ALTER COLUMN id DROP IDENTITY;
        ALTER TABLE users ALTER COLUMN id DROP IDENTITY;
        ALTER TABLE batches ADD COLUMN digest bigint;
        ALTER TABLE extras ADD COLUMN newest bigint;
        UPDATE extras SET newest = d.newest FROM (
            SELECT id, greatest((SELECT max(time) FROM locations l WHERE l.device = devices.id),
                (SELECT max(time) FROM events e WHERE e.device = devices.id), 0) AS newest FROM devices) AS d
            WHERE d.id = extras.device;
        CREATE INDEX extras_newest ON extras(newest);
        CREATE FUNCTION refuse_older_server() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'this beekon-server is older than the tables: install the new version'
                USING ERRCODE = '57P03'; END $$;
        ALTER TABLE presence ADD COLUMN writer smallint DEFAULT 3;
        ALTER TABLE presence ALTER COLUMN writer DROP DEFAULT;
        ALTER TABLE presence ADD CONSTRAINT knows_installations CHECK (writer IS NOT NULL OR refuse_older_server());
        ALTER TABLE tokens ADD CONSTRAINT knows_pairs CHECK (pair IS NOT NULL OR refuse_older_server());
        ALTER TABLE batches ADD CONSTRAINT knows_digests
            CHECK (digest IS NOT NULL OR refuse_older_server()) NOT VALID;
        UPDATE beekon_schema SET version = 3;

        """
}
