internal import Base
internal import SQLite

/// Named numbers; 0 where there is none of that name. Those of one destination: `DestinationCounter`.
struct Counters: ~Copyable {
    /// The value of a counter. A closure, because salvage reads counters as well, of a database without tables.
    typealias Reading<Failure: Error> = (String) throws(Failure) -> Int64

    let db: Connection
    private let select: Statement
    let raise: Statement
}

extension Counters {
    init(_ db: Connection) throws(SQLiteError) {
        self.init(
            db: db,
            select: try db.prepare("SELECT value FROM counters WHERE name = ?"),
            raise: try db.prepare(
                """
                INSERT INTO counters (name, value) VALUES (?, ?) \
                ON CONFLICT (name) DO UPDATE SET value = min(max(value, 0), 1 << 52) + excluded.value
                """))
    }

    func value(_ name: String) throws(SQLiteError) -> Int64 {
        try select.bind([.text(name)])
        defer { select.reset() }
        return try select.step() ? select.integer(0) : 0
    }

    /// Writes only what differs.
    func set(_ name: String, to value: Int64) throws(SQLiteError) {
        if try self.value(name) == value { return }
        try db.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)").run(
            .text(name), .integer(value))
    }
}

extension Counters {
    /// Names that are read of a damaged database at most.
    private static let limit = 10_000

    /// All of them, in any database.
    static func all(_ db: Connection) throws(SQLiteError) -> [String: Int64] {
        let rows = try db.prepare("SELECT name, value FROM counters LIMIT \(limit)")
        var found: [String: Int64] = [:]
        while try rows.step() { found[rows.text(0) ?? ""] = rows.integer(1) }
        return found
    }
}
