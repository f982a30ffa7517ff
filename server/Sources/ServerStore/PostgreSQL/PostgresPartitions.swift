internal import Base

/// The weeks that have partitions. There is no default partition: a row in it would have to be moved before its week could
/// get one.
struct PostgresPartitions {
    /// A week, counted from 1970-01-01.
    typealias Week = Int64

    static let milliseconds: Int64 = 7 * 86_400_000

    /// Weeks that are made in one transaction: it locks each table, of which PostgreSQL has room for some thousands.
    private static let atOnce = 20

    private var known: Set<Week> = []

    static func week(of time: Timestamp) -> Week {
        let (week, rest) = time.milliseconds.quotientAndRemainder(dividingBy: milliseconds)
        return rest < 0 ? week - 1 : week
    }

    /// What another server may have dropped is asked for anew.
    mutating func forget() {
        known = []
    }

    /// Makes the partitions that are missing; outside of the group's transaction, so that others see them at once.
    mutating func ensure(
        _ weeks: Set<Week>, in session: PostgresSession
    ) throws(PostgresSession.Refusal) {
        let missing = weeks.subtracting(known).sorted()
        guard !missing.isEmpty else { return }
        for start in stride(from: 0, to: missing.count, by: Self.atOnce) {
            let weeks = missing[start..<min(start + Self.atOnce, missing.count)]
            try session.atomically { () throws(PostgresSession.Refusal) in
                _ = try session.query("SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
                for week in weeks { try Self.make(week, in: session) }
            }
            known.formUnion(weeks)
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
