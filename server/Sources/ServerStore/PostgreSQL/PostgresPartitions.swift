internal import Base
internal import EnvelopeReader

/// The weeks that have partitions. There is no default partition: a row in it would have to be moved before its week could
/// get one.
struct PostgresPartitions {
    /// A week, counted from 1970-01-01.
    typealias Week = Int64

    static let milliseconds: Int64 = 7 * 86_400_000

    /// Weeks of one transaction: it takes PostgreSQL half a second, for which other servers that need a new week wait.
    private static let atOnce = 20
    /// New weeks that a device may have at once, and how many more it may have after each hour. Each week stays, and makes reading
    /// slower for everybody: a vehicle that comes back after a year needs 53.
    private static let most = 60.0
    private static let perHour = 8.0
    private var known: Set<Week> = []
    /// Weeks that could not be made, of the ones that are being made.
    private var hopeless: Set<Week> = []

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

    // MARK: What is there

    /// Batches of a group that have rows of weeks without partitions.
    ///
    /// - Returns: their places.
    mutating func unready(
        _ group: [Submission], in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> [Int] {
        if group.allSatisfy({ covers($0) }) { return [] }
        known = try Self.complete(in: session)
        return group.indices.filter { !covers(group[$0]) }
    }

    private func covers(_ submission: Submission) -> Bool {
        // Most rows are of the week of the one before.
        var last: Week?
        return Self.visit(submission) { week in
            if week == last { return true }
            last = week
            return known.contains(week)
        }
    }

    /// The weeks of everything that is to be stored.
    static func weeks(of submission: Submission) -> Set<Week> {
        var weeks: Set<Week> = []
        _ = visit(submission) { week in
            weeks.insert(week)
            return true
        }
        return weeks
    }

    /// - Returns: whether `body` was true for the weeks of all that is to be stored.
    private static func visit(_ submission: Submission, _ body: (Week) -> Bool) -> Bool {
        func isFine(_ time: Timestamp) -> Bool { !submission.isKept(time) || body(week(of: time)) }
        let batch = submission.batch
        guard batch.locations.allSatisfy({ isFine($0.time) }), batch.events.allSatisfy({ isFine($0.time) }),
            batch.remarks.events.allSatisfy({ isFine($0.time) })
        else { return false }
        guard submission.keepsID, submission.keptRows > 0 else { return true }
        return body(week(of: batch.id.time))
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

    // MARK: What is made

    /// Makes partitions that are missing, as many as one transaction should; outside of a group's, so that others see them at
    /// once. A week that cannot be made is left out, and those who need it are refused.
    ///
    /// - Parameter device: who needs them, and has room for so many; nil: for everybody.
    /// - Returns: whether some are still missing that may be made.
    mutating func make(
        _ weeks: Set<Week>, for device: Int64?, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Bool {
        let (done, left) = try session.atomically { () throws(PostgresSession.Refusal) in
            _ = try session.query(
                "SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
            let missing = weeks.subtracting(try Self.complete(in: session)).subtracting(hopeless)
            guard !missing.isEmpty else { return (0, 0) }
            let outcome = try Self.make(missing.sorted(), for: device, in: session)
            hopeless.formUnion(outcome.refused)
            let done = outcome.made + outcome.refused.count
            return (done + outcome.dropped, missing.count - done)
        }
        known = try Self.complete(in: session)
        let isMore = done > 0 && left > 0
        // Another time it is tried again.
        if !isMore { hopeless = [] }
        return isMore
    }

    private struct Outcome {
        var made = 0
        /// Weeks whose partitions cannot be made.
        var refused: Set<Week> = []
        /// Partitions that were being dropped at the same moment.
        var dropped = 0
    }

    /// What PostgreSQL says where somebody else drops the same table: it is not there, is there, both waited, or a row of the catalog
    /// has changed.
    private static let droppedMeanwhile = ["42P01", "42P07", "40P01", "XX000"]

    /// Makes some of these, as many as one transaction should.
    private static func make(
        _ missing: [Week], for device: Int64?, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Outcome {
        let room: Double? = if let device { try self.room(of: device, in: session) } else { nil }
        var outcome = Outcome()
        let next = missing.prefix(min(atOnce, room.map { Int(exactly: $0.rounded(.down)) ?? 0 } ?? atOnce))
        for week in next {
            do throws(PostgresSession.Refusal) {
                try session.execute("SAVEPOINT week")
                try make(week, in: session)
                try session.execute("RELEASE week")
                outcome.made += 1
            } catch {
                // What is wrong with the database is wrong with every week.
                guard !error.error.isOfAll else { throw error }
                try session.execute("ROLLBACK TO week")
                if droppedMeanwhile.contains(error.sqlState) {
                    outcome.dropped += 1
                } else {
                    outcome.refused.insert(week)
                }
            }
        }
        if let device, let room, outcome.made > 0 {
            _ = try session.query(
                "UPDATE weeks SET room = $1 WHERE device = $2",
                [.real(room - Double(outcome.made)), .integer(device)])
        }
        return outcome
    }

    /// How many weeks a device may have now.
    private static func room(
        of device: Int64, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Double {
        // By the database's clock, of which all servers have the same. One that is set back gives nothing.
        let rows = try session.query(
            """
            INSERT INTO weeks(device, room, since) VALUES ($1, $2, \(clock)) ON CONFLICT (device) DO UPDATE SET
                room = least(excluded.room,
                    weeks.room + greatest(0, excluded.since - weeks.since) * $3 / 3600000.0),
                since = excluded.since RETURNING room
            """, [.integer(device), .real(most), .real(perHour)])
        return rows.first?.first?.real ?? 0
    }

    /// In milliseconds.
    private static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// CREATE … LIKE and ATTACH stop nobody who writes; CREATE … PARTITION OF would. A table of the name may be there that is no
    /// partition: somebody has detached it. What is in it belongs to the week; an empty one may be anything.
    private static func make(_ week: Week, in session: PostgresSession) throws(PostgresSession.Refusal) {
        let (start, end) = (week * milliseconds, (week + 1) * milliseconds)
        let bounds = [
            ("locations", "\(start)", "\(end)"), ("events", "\(start)", "\(end)"),
            ("vehicle_events", "\(start)", "\(end)"),
            ("batches", "'\(firstID(at: start))'", "'\(firstID(at: end))'"),
        ]
        for (table, from, to) in bounds {
            let name = "\(table)_w\(week)"
            let found = try session.query(
                """
                SELECT i.inhrelid IS NOT NULL FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
                WHERE c.oid = to_regclass($1)
                """, [.text(name)])
            if found.first?.first?.integer == 1 { continue }
            var isThere = !found.isEmpty
            if isThere, try session.query("SELECT 1 FROM \(name) LIMIT 1", []).isEmpty {
                try session.execute("DROP TABLE \(name)")
                isThere = false
            }
            if !isThere { try session.execute("CREATE TABLE \(name) (LIKE \(table) INCLUDING ALL)") }
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
