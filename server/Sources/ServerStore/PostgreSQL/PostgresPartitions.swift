internal import Base

/// The weeks that have partitions. There is no default partition: a row in it would have to be moved before its week could
/// get one.
struct PostgresPartitions {
    /// A week, counted from 1970-01-01.
    typealias Week = Int64

    static let milliseconds: Int64 = 7 * 86_400_000

    /// Weeks that are made at once: it takes PostgreSQL half a second, for which everybody waits who needs a new week.
    static let atOnce = 20

    private var known: Set<Week> = []

    static func week(of time: Timestamp) -> Week {
        let (week, rest) = time.milliseconds.quotientAndRemainder(dividingBy: milliseconds)
        return rest < 0 ? week - 1 : week
    }

    /// What another server may have dropped is asked for anew.
    mutating func forget() {
        known = []
    }

    /// The weeks that will be needed next: this one, and the one after it, in which a fix may be a day early.
    static func weeksAhead(of now: Timestamp) -> Set<Week> {
        let week = week(of: now)
        return [week, week + 1]
    }

    /// Makes partitions that are missing; outside of the group's transaction, so that others see them at once.
    ///
    /// - Returns: whether all are there now. If not, there will be more of them the next time.
    mutating func ensure(
        _ weeks: Set<Week>, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Bool {
        if weeks.isSubset(of: known) { return true }
        known = try Self.complete(in: session)
        let missing = weeks.subtracting(known).sorted()
        let next = missing.prefix(Self.atOnce)
        guard !next.isEmpty else { return true }
        try session.atomically { () throws(PostgresSession.Refusal) in
            _ = try session.query("SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
            for week in next { try Self.make(week, in: session) }
        }
        known.formUnion(next)
        return next.count == missing.count
    }

    /// The weeks of which each table has a partition; while one is dropped, it is not in all of them.
    private static func complete(in session: PostgresSession) throws(PostgresSession.Refusal) -> Set<Week> {
        var counts: [Week: Int] = [:]
        for (_, week) in try all(in: session) { counts[week, default: 0] += 1 }
        return Set(counts.filter { $0.value == tables.count }.keys)
    }

    private static let tables = ["locations", "events", "vehicle_events", "batches"]

    /// The partitions that there are.
    static func all(
        in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> [(name: String, week: Week)] {
        let rows = try session.query(
            """
            SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_class p ON p.oid = i.inhparent
            WHERE p.relname = ANY($1) AND pg_table_is_visible(c.oid)
            """, with: [.array(.text, tables.map { .text($0) })])
        return rows.compactMap { row in
            guard let name = row.first?.text, let mark = name.lastIndex(of: "w"),
                let week = Week(name[name.index(after: mark)...])
            else { return nil }
            return (name, week)
        }
    }

    /// CREATE … LIKE and ATTACH stop nobody who writes; CREATE … PARTITION OF would.
    private static func make(_ week: Week, in session: PostgresSession) throws(PostgresSession.Refusal) {
        let (start, end) = (week * milliseconds, (week + 1) * milliseconds)
        let bounds = [
            ("locations", "\(start)", "\(end)"), ("events", "\(start)", "\(end)"),
            ("vehicle_events", "\(start)", "\(end)"),
            ("batches", "'\(firstID(at: start))'", "'\(firstID(at: end))'"),
        ]
        for (table, from, to) in bounds {
            let name = "\(table)_w\(week)"
            let found = try session.query("SELECT to_regclass($1)::text", [.text(name)])
            if found.first?.first?.text != nil { continue }
            try session.execute("CREATE TABLE \(name) (LIKE \(table) INCLUDING ALL)")
            try session.execute(
                "ALTER TABLE \(table) ATTACH PARTITION \(name) FOR VALUES FROM (\(from)) TO (\(to))")
        }
    }

    /// The least UUID with this time part.
    private static func firstID(at milliseconds: Int64) -> String {
        let time = String(UInt64(bitPattern: max(0, milliseconds)) & 0xFFFF_FFFF_FFFF, radix: 16)
        let digits = String(repeating: "0", count: 12 - time.count) + time
        return "\(digits.prefix(8))-\(digits.suffix(4))-0000-0000-000000000000"
    }
}
