import SQLite
import SimulatedDisk

/// One process on a simulated disk, with a database of counted rows: transaction N writes row N, and changes what all the rows
/// before it say.
final class Process {
    static let database = "/d/test.db"
    let disk: SimulatedDisk
    let vfs: SimulatedVFS
    /// How many transactions have returned without an error.
    private(set) var committed = 0

    init(on disk: SimulatedDisk) throws {
        self.disk = disk
        vfs = try SimulatedVFS(on: disk)
        disk.makeDirectory("/d")
    }

    func connect(_ access: Connection.Access = .readWrite) throws -> Connection {
        try Connection(path: Self.database, access: access, vfs: vfs.name)
    }

    /// Opens the database, making it where it is missing, and writes so many transactions.
    func run(_ transactions: Int, checkpointPages: Int = 12) throws {
        let db = try open(checkpointPages: checkpointPages)
        committed = try Self.count(db)
        for _ in 0..<transactions {
            try commit(db)
            if db.logPages >= checkpointPages { try db.checkpoint() }
        }
    }

    func open(checkpointPages: Int = 12) throws -> Connection {
        let db = try connect()
        try db.execute("PRAGMA page_size = 1024")
        _ = try db.value("PRAGMA journal_mode = WAL")
        try db.execute("PRAGMA synchronous = FULL")
        try db.execute("PRAGMA cache_size = -512")
        try db.takeOverCheckpoints()
        try db.execute(
            "CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, total INTEGER, body BLOB) STRICT")
        // As the store does it.
        try disk.synchronise("/d")
        return db
    }

    func commit(_ db: Connection) throws {
        try db.transaction { () throws(SQLiteError) in
            try db.execute(
                """
                INSERT INTO rows SELECT coalesce(max(id), 0) + 1, 0, zeroblob(300) FROM rows;
                UPDATE rows SET total = (SELECT max(id) FROM rows)
                """)
        }
        committed += 1
    }

    private static func count(_ db: Connection) throws -> Int {
        Int(try db.value("SELECT count(*) FROM rows") ?? "") ?? 0
    }

    /// How many transactions the database holds.
    ///
    /// - Throws: also when it is damaged, or holds half a transaction.
    static func examine(_ disk: SimulatedDisk) throws -> Int {
        let process = try Process(on: disk)
        let db = try process.connect()
        guard try db.value("SELECT 1 FROM sqlite_schema WHERE name = 'rows'") != nil else { return 0 }
        let integrity = try db.value("PRAGMA integrity_check") ?? "no answer"
        guard integrity == "ok" else { throw Unsound(what: integrity) }
        let count = try count(db)
        let wrong = try db.value("SELECT count(*) FROM rows WHERE total <> \(count) OR id > \(count)")
        guard wrong == "0" else { throw Unsound(what: "half a transaction") }
        return count
    }

    struct Unsound: Error {
        let what: String
    }
}
