internal import Base
internal import SQLite

/// Named numbers; 0 where there is none of that name.
struct Counters: ~Copyable {
    /// The value of a counter. A closure, because salvage reads counters as well, of a database without tables.
    typealias Reading = (String) throws(SQLiteError) -> Int64

    /// Where batches are sent, as a number.
    static let endpoint = "endpoint"
    /// In which format they are, as a number.
    static let format = "format"

    private let db: Connection
    private let select: Statement
    private let raise: Statement
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

    // MARK: Destinations

    /// That of one destination.
    static func name(_ name: String, of destination: DestinationName) -> String {
        destination == .main ? name : name + suffix(destination)
    }

    private static func suffix(_ destination: DestinationName) -> String { "@\(destination)" }

    func value(_ name: String, of destination: DestinationName) throws(SQLiteError) -> Int64 {
        try value(Self.name(name, of: destination))
    }

    func set(_ name: String, of destination: DestinationName, to value: Int64) throws(SQLiteError) {
        try set(Self.name(name, of: destination), to: value)
    }

    /// Forgets what is kept under its name.
    func removeAll(of destination: DestinationName) throws(SQLiteError) {
        try db.prepare("DELETE FROM counters WHERE substr(name, -?1) = ?2").run(
            .integer(Int64(destination.text.utf8.count + 1)), .text(Self.suffix(destination)))
    }

    // MARK: Losses

    /// Part of the transaction that loses them.
    func add(_ lost: LossAccount) throws(SQLiteError) {
        try add(lost.all, suffix: "")
        for (name, losses) in lost.byName { try add(losses, suffix: Self.suffix(name)) }
    }

    private func add(_ lost: Losses, suffix: String) throws(SQLiteError) {
        for (name, field) in Losses.names where lost[keyPath: field] > 0 {
            try raise.run(.text(name + suffix), .integer(Int64(lost[keyPath: field])))
        }
    }

    /// - Parameter destination: nil for the losses of all.
    func losses(of destination: DestinationName? = nil) throws(SQLiteError) -> Losses {
        let suffix = destination.map { Self.suffix($0) } ?? ""
        return try Losses(reading: { (name) throws(SQLiteError) in try value(name + suffix) })
    }
}

extension Losses {
    /// The counters in the database.
    fileprivate static let names: [(name: String, field: any (WritableKeyPath<Losses, Int> & Sendable))] = [
        ("dropped_unsent", \.dropped), ("pruned", \.pruned), ("expired", \.expired), ("refused", \.refused),
    ]

    init(reading counter: Counters.Reading) throws(SQLiteError) {
        self.init()
        for (name, field) in Self.names { self[keyPath: field] = Bounded.losses(try counter(name)) }
    }
}
