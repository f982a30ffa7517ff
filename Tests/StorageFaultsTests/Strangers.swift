import Glibc
import SQLite

@testable import Storage

extension Damage {
    /// Databases of other programs, and schemas that are not ours.
    static func strangers() -> [Damage] {
        let schemas: [(String, String)] = [
            ("another program's", "PRAGMA application_id = 1196444487; CREATE TABLE tiles (a, b)"),
            ("an anonymous program's", "CREATE TABLE notes (a, b); INSERT INTO notes VALUES (1, 2)"),
            (
                "another program's, of the present version",
                "PRAGMA user_version = \(Schema.version); CREATE TABLE notes (a, b)"
            ),
            (
                "another program's, with tables of the same names",
                "CREATE TABLE locations (a, b); CREATE TABLE sessions (a, b); PRAGMA user_version = \(Schema.version)"
            ),
            ("a stranger with our names, version 0", "CREATE TABLE locations (a, b)"),
        ]
        let strangers = schemas.flatMap { what, sql in
            ["DELETE", "WAL"].map { mode in
                Damage(name: "database is \(what), \(mode)") { folder in
                    for suffix in ["", "-wal", "-shm"] { unlink(folder.database + suffix) }
                    let db = try Connection(path: folder.database, access: .readWrite)
                    _ = try db.value("PRAGMA journal_mode = \(mode)")
                    try db.execute(sql)
                }
            }
        }
        let changes = [
            ("version 0", "PRAGMA user_version = 0"), ("version -1", "PRAGMA user_version = -1"),
            ("another application id", "PRAGMA application_id = 7"), ("no batches", "DROP TABLE batches"),
            ("a renamed column", "ALTER TABLE locations RENAME COLUMN lat TO latitude"),
        ]
        return strangers
            + changes.map { what, sql in
                Damage(name: "schema has \(what)") { folder in
                    let db = try Connection(path: folder.database, access: .readWrite)
                    try db.execute(sql)
                }
            }
    }
}
