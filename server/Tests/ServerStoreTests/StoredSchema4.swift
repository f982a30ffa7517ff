extension SQLiteExamples {
    /// What the fourth made of the third.
    static let step4 = """
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
        """
}

extension PostgresExamples {
    /// What the fourth made of the third.
    static let step4 = """
        LOCK TABLE users, devices IN ACCESS EXCLUSIVE MODE;
        ALTER TABLE devices ADD COLUMN plate text, ADD COLUMN note text, ADD COLUMN fleet_group bigint,
            ADD COLUMN removed bigint;
        CREATE INDEX devices_group ON devices(fleet_group) WHERE fleet_group IS NOT NULL;
        CREATE TABLE fleet_groups(id bigint PRIMARY KEY, name text NOT NULL UNIQUE, created bigint NOT NULL);
        CREATE TABLE user_groups(
            account bigint NOT NULL, fleet_group bigint NOT NULL, PRIMARY KEY (account, fleet_group));
        CREATE TABLE links(
            device bigint NOT NULL, id bigint NOT NULL, hash bytea NOT NULL, created bigint NOT NULL,
            expires bigint NOT NULL, author text NOT NULL, PRIMARY KEY (device, id));
        CREATE TABLE removals(device bigint PRIMARY KEY, since bigint NOT NULL);
        INSERT INTO numbers VALUES ('fleet', 1), ('group', 1), ('link', 1);
        UPDATE beekon_schema SET version = 4;
        """
}
