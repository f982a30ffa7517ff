internal import Base
internal import SQLite
internal import Tracking

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
    /// How the names of those begin that no destination has.
    private static let beginnings = [
        "age_", "erasing", "tally_", Writer.attempt(""), Writer.odometerSettings, Writer.knowsStates,
    ]

    /// Whether a counter may be called this.
    static func isName(_ text: String) -> Bool {
        DestinationCounter(rawValue: String(text.prefix { $0 != "@" })) != nil
            || beginnings.contains { text.hasPrefix($0) }
    }

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

/// Deletions that have begun. Recorded before the first step, and removed after the last, so that one that is
/// interrupted is completed at the next start.
extension Counters {
    /// Requests that are remembered at most.
    static let deletionLimit = 8

    private static let mark = "erasing"
    private static let cutoff = "erasing_before"
    private static let seq = "erasing_seq"
    private static let eventSeq = "erasing_event_seq"
    /// Values of `mark`; 0: nothing is being deleted.
    private static let everything: Int64 = 1
    private static let upToTime: Int64 = 2

    private static func suffix(_ index: Int) -> String { index == 0 ? "" : "_\(index + 1)" }

    /// Whether some deletion is not completed.
    var isErasing: Bool {
        get throws(SQLiteError) { try value(Self.mark) != 0 }
    }

    func deletions() throws(SQLiteError) -> [Deletion.Bounds] {
        try Self.deletions { (name) throws(SQLiteError) in try value(name) }
    }

    static func deletions<Failure>(_ counter: Reading<Failure>) throws(Failure) -> [Deletion.Bounds] {
        var found: [Deletion.Bounds] = []
        while found.count < deletionLimit {
            let suffix = suffix(found.count)
            let mark = try counter(Self.mark + suffix)
            guard mark == everything || mark == upToTime else { break }
            found.append(
                Deletion.Bounds(
                    cutoff: mark == everything
                        ? nil : Timestamp(milliseconds: try counter(cutoff + suffix)),
                    maxSeq: try counter(seq + suffix), maxEventSeq: try counter(eventSeq + suffix)))
        }
        return found
    }

    func set(deletions: [Deletion.Bounds]) throws(SQLiteError) {
        for (index, one) in deletions.enumerated() {
            let suffix = Self.suffix(index)
            try set(Self.mark + suffix, to: one.cutoff == nil ? Self.everything : Self.upToTime)
            try set(Self.cutoff + suffix, to: one.cutoff?.milliseconds ?? 0)
            try set(Self.seq + suffix, to: one.maxSeq)
            try set(Self.eventSeq + suffix, to: one.maxEventSeq)
        }
        guard deletions.count < Self.deletionLimit else { return }
        try set(Self.mark + Self.suffix(deletions.count), to: 0)
    }
}

/// What is remembered about the observed times. In these counters 0 means nothing: no line of times that has been
/// trusted begins in 1970.
extension Counters {
    private static let ran = "age_ran"

    private static func line(_ index: Int) -> String { "age_line_\(index)" }

    /// What was last written; nil in a database without it.
    func ages() throws(SQLiteError) -> AgeTrust.Memory? {
        try Self.ages { (name) throws(SQLiteError) in try value(name) }
    }

    static func ages<Failure>(_ counter: Reading<Failure>) throws(Failure) -> AgeTrust.Memory? {
        var memory = AgeTrust.Memory(ran: Double(max(try counter(ran), 0)) / 1000, lines: [])
        for index in 0..<AgeTrust.limit {
            let origin = try counter(line(index))
            guard origin != 0 else { break }
            let until = Double(try counter(line(index) + "_until")) / 1000
            memory.lines.append(AgeTrust.Line(origin: Timestamp(milliseconds: origin), until: until))
        }
        return memory.lines.isEmpty ? nil : memory
    }

    func set(_ memory: AgeTrust.Memory) throws(SQLiteError) {
        try set(Self.ran, to: Self.milliseconds(memory.ran))
        let lines = memory.lines.prefix(AgeTrust.limit)
        for (index, line) in lines.enumerated() {
            try set(Self.line(index), to: line.origin.milliseconds)
            try set(Self.line(index) + "_until", to: Self.milliseconds(line.until))
        }
        // The end of the list; what comes after it is not read.
        if lines.count < AgeTrust.limit { try set(Self.line(lines.count), to: 0) }
    }

    private static func milliseconds(_ seconds: Double) -> Int64 {
        Timestamp(milliseconds: 0).advanced(bySeconds: seconds).milliseconds
    }
}
