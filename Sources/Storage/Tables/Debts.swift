internal import Base
internal import SQLite

/// Who is owed what, as ranges of sequence numbers, for every destination that is configured, or that something was owed to
/// when it last was. Empty while there is only `main`: then it is owed whatever is not uploaded.
struct Debts {
    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    /// Without their rows.
    func backlogs() throws(SQLiteError) -> [Backlog] { try Self.backlogs(destinations: db, debts: db) }

    /// Backlogs without their rows, in any database: where the table of each name is read.
    static func backlogs(destinations: Connection, debts: Connection) throws(SQLiteError) -> [Backlog] {
        let ranges = try ranges(debts)
        let rows = try destinations.prepare("SELECT name, orphaned_at FROM destinations")
        var found: [Backlog] = []
        while try rows.step() {
            guard let name = rows.text(0).flatMap({ DestinationName($0) }) else { continue }
            var backlog = Backlog(name: name, owed: owed(ranges[name], .owed))
            backlog.offered = owed(ranges[name], .offered)
            backlog.isOrphaned = !rows.isNull(1)
            backlog.orphanedAt = rows.integer(1) > 0 ? Timestamp(milliseconds: rows.integer(1)) : nil
            found.append(backlog)
        }
        return found
    }

    /// What a range means; the raw value is added to the code of the kind of record.
    private enum Meaning: Int64 {
        case owed = 0
        case offered = 2
    }

    private static func owed(_ ranges: [Int64: [ClosedRange<Int64>]]?, _ meaning: Meaning) -> Backlog.Owed {
        func set(_ kind: RecordKind) -> SeqSet { SeqSet(ranges?[kind.code + meaning.rawValue] ?? []) }
        return Backlog.Owed(locations: set(.locations), events: set(.events))
    }

    private static func ranges(
        _ db: Connection
    ) throws(SQLiteError) -> [DestinationName: [Int64: [ClosedRange<Int64>]]] {
        let rows = try db.prepare("SELECT destination, kind, first_seq, last_seq FROM debts")
        var found: [DestinationName: [Int64: [ClosedRange<Int64>]]] = [:]
        while try rows.step() {
            guard let name = rows.text(0).flatMap({ DestinationName($0) }) else { continue }
            let (first, last) = (rows.integer(2), rows.optionalInteger(3) ?? .max)
            if first <= last { found[name, default: [:]][rows.integer(1), default: []].append(first...last) }
        }
        return found
    }

    /// Adds a destination, or changes what is known of it, to what `backlog` says.
    func set(_ backlog: Backlog, from old: Backlog?) throws(SQLiteError) {
        if backlog.isOrphaned != old?.isOrphaned || backlog.orphanedAt != old?.orphanedAt {
            let orphanedAt = backlog.isOrphaned ? backlog.orphanedAt?.milliseconds ?? 0 : nil
            try db.prepare("INSERT OR REPLACE INTO destinations (name, orphaned_at) VALUES (?, ?)").run(
                .text(backlog.name.text), .optional(orphanedAt))
        }
        try change(backlog.name, from: old?.owed ?? Backlog.Owed(), to: backlog.owed)
        let offered = old?.offered ?? Backlog.Owed()
        try change(backlog.name, .locations, .offered, from: offered.locations, to: backlog.offered.locations)
        try change(backlog.name, .events, .offered, from: offered.events, to: backlog.offered.events)
    }

    /// Writes what has changed of what it is owed.
    func change(_ name: DestinationName, from old: Backlog.Owed, to new: Backlog.Owed) throws(SQLiteError) {
        try change(name, .locations, .owed, from: old.locations, to: new.locations)
        try change(name, .events, .owed, from: old.events, to: new.events)
    }

    private func change(
        _ name: DestinationName, _ kind: RecordKind, _ meaning: Meaning, from old: SeqSet, to new: SeqSet
    ) throws(SQLiteError) {
        guard old != new else { return }
        let (gone, added) = (Set(old.ranges).subtracting(new.ranges), Set(new.ranges).subtracting(old.ranges))
        let key: [Value] = [.text(name.text), .integer(kind.code + meaning.rawValue)]
        if gone.count == 1, added.count == 1, let former = gone.first, let range = added.first {
            try db.prepare(
                """
                UPDATE debts SET first_seq = ?3, last_seq = ?4 \
                WHERE destination = ?1 AND kind = ?2 AND first_seq = ?5
                """
            ).run(key + Self.values(range) + [.integer(former.lowerBound)])
            return
        }
        let delete = try db.prepare("DELETE FROM debts WHERE destination = ? AND kind = ? AND first_seq = ?")
        for range in gone { try delete.run(key + [.integer(range.lowerBound)]) }
        let insert = try db.prepare(
            "INSERT INTO debts (destination, kind, first_seq, last_seq) VALUES (?, ?, ?, ?)")
        for range in added { try insert.run(key + Self.values(range)) }
    }

    private static func values(_ range: ClosedRange<Int64>) -> [Value] {
        [.integer(range.lowerBound), .optional(range.upperBound == .max ? nil : range.upperBound)]
    }

    func remove(_ name: DestinationName) throws(SQLiteError) {
        for table in ["debts WHERE destination", "destinations WHERE name"] {
            try db.prepare("DELETE FROM \(table) = ?").run(.text(name.text))
        }
    }
}
