internal import Base
internal import EnvelopeReader

/// The weeks that have partitions, or the days where an operator has said so before there was data (`partition_days`). There is no
/// default partition: a row in it would have to be moved before its week could get one.
struct PostgresPartitions {
    /// A week or a day, counted from 1970-01-01.
    typealias Period = Int64

    /// How long the time of one partition is. The raw values are days, and stored.
    enum Span: Int64, CaseIterable {
        case day = 1
        case week = 7

        var milliseconds: Int64 { rawValue * 86_400_000 }

        /// Behind the name of a table, before the number of the period.
        var mark: String {
            switch self {
            case .day: "d"
            case .week: "w"
            }
        }

        func period(of time: Timestamp) -> Period {
            let (period, rest) = time.milliseconds.quotientAndRemainder(dividingBy: milliseconds)
            return rest < 0 ? period - 1 : period
        }

        /// The periods that will be needed next: this one, and the one after it, in which a fix may be a day early.
        ///
        /// - Parameter isDistributed: four weeks of them, as Citus takes seconds for each, in which nobody stores.
        func periodsAhead(of now: Timestamp, isDistributed: Bool = false) -> Set<Period> {
            let period = period(of: now)
            return Set(period...period + (isDistributed ? 28 / rawValue : 1))
        }
    }

    /// Periods by what they are needed for: ids of batches are remembered for a time of their own.
    struct Periods: Equatable {
        var rows: Set<Period> = []
        var batches: Set<Period> = []

        var all: Set<Period> { rows.union(batches) }

        mutating func formUnion(_ other: Periods) {
            rows.formUnion(other.rows)
            batches.formUnion(other.batches)
        }

        func subtracting(_ other: Periods) -> Periods {
            Periods(rows: rows.subtracting(other.rows), batches: batches.subtracting(other.batches))
        }
    }

    /// Periods of one transaction: it takes PostgreSQL half a second, for which other servers that need a new one wait. With Citus
    /// it takes a second for each, for which uploads wait.
    private static func atOnce(in session: PostgresSession) -> Int { session.isDistributed ? 1 : 20 }
    /// Days in new periods that a device may have at once, and how many more it may have after each hour. Each period stays, and makes
    /// reading slower for everybody: a vehicle that comes back after a year needs 53 weeks.
    private static let most = 60.0 * 7
    private static let perHour = 8.0 * 7
    /// nil: not asked for yet.
    private var span: Span?
    private var known = Periods()
    /// Periods that could not be made, of the ones that are being made.
    private var hopeless: Set<Period> = []

    /// What another server may have dropped is asked for anew.
    mutating func forget() {
        known = Periods()
        span = nil
    }

    // MARK: What is there

    /// Batches of a group that have rows of periods without partitions.
    ///
    /// - Returns: their places.
    mutating func unready(
        _ group: [Submission], in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> [Int] {
        if let span, group.allSatisfy({ covers($0, span) }) { return [] }
        let span = try look(in: session)
        return group.indices.filter { !covers(group[$0], span) }
    }

    private mutating func look(in session: PostgresSession) throws(PostgresSession.Refusal) -> Span {
        let span = try Self.span(in: session)
        self.span = span
        known = try Self.complete(in: session)
        return span
    }

    private func covers(_ submission: Submission, _ span: Span) -> Bool {
        // Most rows are of the period of the one before.
        var last: Period?
        return Self.visit(submission, span) { period, isBatch in
            if isBatch { return known.batches.contains(period) }
            if period == last { return true }
            last = period
            return known.rows.contains(period)
        }
    }

    /// The periods of everything that is to be stored.
    mutating func periods(
        of group: [Submission], in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Periods {
        let span = if let span { span } else { try look(in: session) }
        var periods = Periods()
        for submission in group {
            _ = Self.visit(submission, span) { period, isBatch in
                if isBatch { periods.batches.insert(period) } else { periods.rows.insert(period) }
                return true
            }
        }
        return periods
    }

    /// - Parameter body: is told whether the period is that of the batch's id.
    /// - Returns: whether it was true for the periods of all that is to be stored.
    private static func visit(
        _ submission: Submission, _ span: Span, _ body: (Period, _ isBatch: Bool) -> Bool
    ) -> Bool {
        func isFine(_ time: Timestamp) -> Bool {
            !submission.isKept(time) || body(span.period(of: time), false)
        }
        let batch = submission.batch
        guard batch.locations.allSatisfy({ isFine($0.time) }), batch.events.allSatisfy({ isFine($0.time) }),
            batch.remarks.events.allSatisfy({ isFine($0.time) })
        else { return false }
        guard submission.keepsID, submission.keptRows > 0 else { return true }
        return body(span.period(of: batch.id.time), true)
    }

    /// The periods that have all partitions; while one is dropped, some are missing.
    private static func complete(in session: PostgresSession) throws(PostgresSession.Refusal) -> Periods {
        var counts: [Period: Int] = [:]
        var periods = Periods()
        for partition in try all(in: session) {
            if partition.table == "batches" {
                periods.batches.insert(partition.period)
            } else {
                counts[partition.period, default: 0] += 1
            }
        }
        periods.rows = Set(counts.filter { $0.value == tables.count - 1 }.keys)
        return periods
    }

    static let tables = ["locations", "events", "vehicle_events", "batches"]

    /// One that there is.
    struct Partition {
        /// The table of which it is one.
        var table: String
        var name: String
        var period: Period
    }

    /// The partitions that there are.
    static func all(in session: PostgresSession) throws(PostgresSession.Refusal) -> [Partition] {
        let rows = try session.query(
            """
            SELECT p.relname::text, c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_class p ON p.oid = i.inhparent
            WHERE p.relname = ANY($1) AND pg_table_is_visible(c.oid)
            """, with: [.array(.text, tables.map { .text($0) })])
        return rows.compactMap { row in
            guard let table = row[0].text, let name = row[1].text, name.hasPrefix(table + "_"),
                let period = Period(name.dropFirst(table.count + 2))
            else { return nil }
            return Partition(table: table, name: name, period: period)
        }
    }

    // MARK: How long they are

    static func span(in session: PostgresSession) throws(PostgresSession.Refusal) -> Span {
        let days = try session.query("SELECT days FROM partitioning", []).first?.first?.integer
        return days.flatMap { Span(rawValue: $0) } ?? .week
    }

    /// Chooses how long partitions are, for all servers of this database, before there is data.
    static func choose(_ span: Span, in session: PostgresSession) throws(PostgresSession.Refusal) {
        let former = try self.span(in: session)
        guard former != span else { return }
        try session.atomically { () throws(PostgresSession.Refusal) in
            _ = try session.query("SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
            // Who stores now does so before it is looked.
            try session.execute("LOCK TABLE \(tables.joined(separator: ", ")) IN ACCESS EXCLUSIVE MODE")
            for table in tables {
                guard try session.query("SELECT 1 FROM \(table) LIMIT 1", []).isEmpty else {
                    throw PostgresSession.Refusal(
                        operation: "open", sqlState: "",
                        message:
                            "there is data in partitions of \(former == .day ? "a day" : "a week"): partition_days is chosen before there is any; leave it out, or load the data into a new database",
                        isLost: false)
                }
            }
            for partition in try all(in: session) { try session.execute("DROP TABLE \(partition.name)") }
            _ = try session.query("UPDATE partitioning SET days = $1", [.integer(span.rawValue)])
        }
    }

    // MARK: What is made

    /// Makes partitions that are missing, as many as one transaction should; outside of a group's, so that others see them at
    /// once. A period that cannot be made is left out, and those who need it are refused.
    ///
    /// - Parameter device: who needs them, and has room for so many; nil: for everybody.
    /// - Returns: whether some are still missing that may be made.
    mutating func make(
        _ periods: Periods, for device: Int64?, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Bool {
        let (done, left) = try session.atomically { () throws(PostgresSession.Refusal) in
            _ = try session.query(
                "SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
            // Another server may have chosen another one meanwhile.
            guard try Self.span(in: session) == span else { return (0, 0) }
            var missing = periods.subtracting(try Self.complete(in: session))
            missing = missing.subtracting(Periods(rows: hopeless, batches: hopeless))
            guard !missing.all.isEmpty else { return (0, 0) }
            let outcome = try Self.make(missing, for: device, in: session)
            hopeless.formUnion(outcome.refused)
            let done = outcome.made + outcome.refused.count
            return (done + outcome.dropped, missing.all.count - done)
        }
        _ = try look(in: session)
        let isMore = done > 0 && left > 0
        // Another time it is tried again.
        if !isMore { hopeless = [] }
        return isMore
    }

    /// Makes those that will be needed next.
    mutating func makeAhead(
        of now: Timestamp, in session: PostgresSession
    ) throws(PostgresSession.Refusal) {
        let ahead = try look(in: session).periodsAhead(of: now, isDistributed: session.isDistributed)
        // No more often, whatever others drop meanwhile.
        for _ in ahead {
            guard try make(Periods(rows: ahead, batches: ahead), for: nil, in: session) else { return }
        }
    }

    private struct Outcome {
        var made = 0
        /// Periods whose partitions cannot be made.
        var refused: Set<Period> = []
        /// Partitions that were being dropped at the same moment.
        var dropped = 0
    }

    /// What PostgreSQL says where somebody else drops the same table: it is not there, is there, both waited, or a row of the catalog
    /// has changed.
    private static let droppedMeanwhile = ["42P01", "42P07", "40P01", "XX000"]

    /// Makes some of these, as many as one transaction should.
    private static func make(
        _ missing: Periods, for device: Int64?, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Outcome {
        let span = try self.span(in: session)
        let room: Double? = if let device { try self.room(of: device, span, in: session) } else { nil }
        var outcome = Outcome()
        let atOnce = atOnce(in: session)
        let next = missing.all.sorted().prefix(
            min(atOnce, room.map { Int(exactly: $0.rounded(.down)) ?? 0 } ?? atOnce))
        for period in next {
            do throws(PostgresSession.Refusal) {
                try session.execute("SAVEPOINT period")
                try make(
                    period, span, isForRows: missing.rows.contains(period),
                    isForBatches: missing.batches.contains(period), in: session)
                try session.execute("RELEASE period")
                outcome.made += 1
            } catch {
                // What is wrong with the database, or a worker of it, is wrong with every period.
                guard !error.error.isOfAll, !error.sqlState.hasPrefix("08") else { throw error }
                try session.execute("ROLLBACK TO period")
                if droppedMeanwhile.contains(error.sqlState) {
                    outcome.dropped += 1
                } else {
                    outcome.refused.insert(period)
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

    /// How many new periods a device may have now.
    private static func room(
        of device: Int64, _ span: Span, in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> Double {
        // By the database's clock, of which all servers have the same. One that is set back gives nothing.
        let rows = try session.query(
            """
            INSERT INTO weeks(device, room, since) VALUES ($1, $2, \(clock)) ON CONFLICT (device) DO UPDATE SET
                room = least(excluded.room,
                    weeks.room + greatest(0, excluded.since - weeks.since) * $3 / 3600000.0),
                since = excluded.since RETURNING room
            """,
            [.integer(device), .real(most / Double(span.rawValue)), .real(perHour / Double(span.rawValue))])
        return rows.first?.first?.real ?? 0
    }

    /// In milliseconds.
    private static let clock = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

    /// CREATE … LIKE and ATTACH stop nobody who writes; CREATE … PARTITION OF would. A table of the name may be there that is no
    /// partition: somebody has detached it. What is in it belongs to the period; an empty one may be anything.
    private static func make(
        _ period: Period, _ span: Span, isForRows: Bool, isForBatches: Bool, in session: PostgresSession
    ) throws(PostgresSession.Refusal) {
        let (start, end) = (period * span.milliseconds, (period + 1) * span.milliseconds)
        var bounds: [(table: String, from: String, to: String)] = []
        if isForRows {
            bounds = ["locations", "events", "vehicle_events"].map { ($0, "\(start)", "\(end)") }
        }
        if isForBatches {
            bounds.append(("batches", "'\(firstID(at: start))'", "'\(firstID(at: end))'"))
        }
        var statements: [String] = []
        for (table, from, to) in bounds {
            let name = "\(table)_\(span.mark)\(period)"
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
            statements.append(
                "ALTER TABLE \(table) ATTACH PARTITION \(name) FOR VALUES FROM (\(from)) TO (\(to))")
        }
        // Last: with Citus, which then makes the shards, who stores waits from here to the end.
        for statement in statements { try session.execute(statement) }
    }

    /// The least UUID with this time part.
    private static func firstID(at milliseconds: Int64) -> String {
        let time = String(UInt64(bitPattern: max(0, milliseconds)) & 0xFFFF_FFFF_FFFF, radix: 16)
        let digits = String(repeating: "0", count: 12 - time.count) + time
        return "\(digits.prefix(8))-\(digits.suffix(4))-0000-0000-000000000000"
    }
}
