package import Base

/// The guarded time in the database, one row for all servers. Each function is for a thread of the store.
package enum ClockRow {
    /// One server, as long as it runs.
    package struct Watcher: Equatable, Sendable {
        /// A random number.
        package var id: Int64
        /// What the row's turn was when this server looked last: when it is still that, the one that watched has gone.
        package var turn: Int64?

        package init(id: Int64) {
            self.id = id
        }
    }

    /// The row as it is; what a new one would be when there is none.
    package static func read(from session: any Session) throws(StoreError) -> GuardedTime {
        try row(session)?.time ?? GuardedTime()
    }

    /// The lesser of the server's clock and the database's.
    package static func wall(_ now: Timestamp, from session: any Session) throws(StoreError) -> Timestamp {
        min(now, try session.clock() ?? now)
    }

    /// Takes one look at the clocks into account.
    ///
    /// - Parameters:
    ///   - elapsed: milliseconds of CLOCK_BOOTTIME since the watcher's last turn; nil before its first.
    ///   - votes: of the devices, for a time that the clocks show.
    package static func advance(
        _ watcher: inout Watcher, now: Timestamp, elapsed: Int64?, isSynchronised: Bool, isConfirmed: Bool,
        in session: any Session
    ) throws(StoreError) -> (time: GuardedTime, votes: GuardedTime.Votes) {
        var seen = watcher
        let result = try session.transaction { () throws(StoreError) in
            try session.run(
                """
                INSERT INTO clock(id, guarded, running, watcher, turn, held, synchronised)
                VALUES (1, $1, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING
                """, .integer(GuardedTime.release.milliseconds))
            // The lock on the row.
            try session.run("UPDATE clock SET turn = turn WHERE id = 1")
            guard let row = try row(session) else {
                throw StoreError(.failed, operation: "clock", message: "its row has gone")
            }
            let wall = try wall(now, from: session)
            let votes = try votes(at: wall, row.time, from: session)
            let isOwn = row.watcher == seen.id
            let isWatching = isOwn || row.watcher == 0 || row.turn == seen.turn
            var time = row.time
            time.advance(
                GuardedTime.Look(
                    wall: wall, ran: isOwn ? elapsed : nil, since: row.turn == seen.turn ? elapsed : nil,
                    isSynchronised: isSynchronised, votes: votes,
                    isConfirmed: isConfirmed, isWatching: isWatching))
            let turn = isWatching ? row.turn + 1 : row.turn
            try write(time, watcher: isWatching ? seen.id : row.watcher, turn: turn, in: session)
            seen.turn = turn
            return (time, votes)
        }
        watcher = seen
        return result
    }

    private static func row(
        _ session: any Session
    ) throws(StoreError) -> (time: GuardedTime, watcher: Int64, turn: Int64)? {
        let rows = try session.run(
            "SELECT guarded, running, watcher, turn, leap, held, synchronised FROM clock WHERE id = 1")
        guard let row = rows.first, let guarded = row[0].integer, let running = row[1].integer,
            let watcher = row[2].integer, let turn = row[3].integer, let held = row[5].integer,
            let synchronised = row[6].integer
        else { return nil }
        let leap = row[4].integer.map {
            GuardedTime.Leap(wall: Timestamp(milliseconds: $0), held: held, synchronised: synchronised)
        }
        return (
            GuardedTime(time: Timestamp(milliseconds: guarded), running: running, leap: leap), watcher, turn
        )
    }

    private static func write(
        _ time: GuardedTime, watcher: Int64, turn: Int64, in session: any Session
    ) throws(StoreError) {
        try session.run(
            """
            UPDATE clock SET guarded = $1, running = $2, watcher = $3, turn = $4, leap = $5, held = $6,
                synchronised = $7 WHERE id = 1
            """, .integer(time.time.milliseconds), .integer(time.running), .integer(watcher), .integer(turn),
            .optional(time.leap?.wall.milliseconds), .integer(time.leap?.held ?? 0),
            .integer(time.leap?.synchronised ?? 0))
    }

    // MARK: Votes

    /// Notes which times devices have named last.
    package static func note(
        _ votes: [(device: Int64, sentAt: Timestamp)], in session: any Session
    ) throws(StoreError) {
        guard !votes.isEmpty else { return }
        try session.transaction { () throws(StoreError) in
            let running = try read(from: session).running
            // By device: two servers must not wait for each other.
            for vote in votes.sorted(by: { $0.device < $1.device }) {
                try session.run(
                    """
                    INSERT INTO votes(device, sent_at, running) VALUES ($1, $2, $3)
                    ON CONFLICT (device) DO UPDATE SET sent_at = excluded.sent_at, running = excluded.running
                    """, .integer(vote.device), .integer(vote.sentAt.milliseconds), .integer(running))
            }
        }
    }

    /// While the clock is ahead they may confirm it, and all are counted. Else it only matters whether most contradict it: few do, and as
    /// many are counted as tell that. Counting a million with their devices takes more than a second.
    private static func votes(
        at wall: Timestamp, _ time: GuardedTime, from session: any Session
    ) throws(StoreError) -> GuardedTime.Votes {
        let (first, last) = (
            wall.milliseconds - GuardedTime.slack, wall.milliseconds + GuardedTime.slack
        )
        let since = time.running - 86_400_000
        guard time.isAhead(wall) else {
            let ahead = try count(votesAhead, [last, .max, since], from: session)
            let most = GuardedTime.Votes.decisive(ahead)
            let all = most > 0 ? try count(someVotes, [since, Int64(most)], from: session) : 0
            return GuardedTime.Votes(all: all, ahead: ahead)
        }
        let rows = try session.run(
            """
            SELECT count(*), count(CASE WHEN v.sent_at BETWEEN $1 AND $2 THEN 1 END),
                count(CASE WHEN v.sent_at > $2 THEN 1 END)
            FROM votes v JOIN devices d ON d.id = v.device WHERE v.running >= $3 AND d.revoked IS NULL
            """, .integer(first), .integer(last), .integer(since))
        guard let row = rows.first, let all = row[0].integer, let near = row[1].integer,
            let ahead = row[2].integer
        else { return GuardedTime.Votes() }
        return GuardedTime.Votes(
            all: Int(clamping: all), near: Int(clamping: near), ahead: Int(clamping: ahead))
    }

    /// Votes for a time behind `$1`. Both bounds are needed; see `Reading.page`.
    private static let votesAhead = """
        SELECT count(*) FROM votes v JOIN devices d ON d.id = v.device
        WHERE v.sent_at > $1 AND v.sent_at <= $2 AND v.running >= $3 AND d.revoked IS NULL
        """

    /// At most `$2` of all.
    private static let someVotes = """
        SELECT count(*) FROM (SELECT 1 FROM votes v JOIN devices d ON d.id = v.device
            WHERE v.running >= $1 AND d.revoked IS NULL ORDER BY v.device LIMIT $2) AS first
        """

    private static func count(
        _ sql: String, _ values: [Int64], from session: any Session
    ) throws(StoreError) -> Int {
        Int(clamping: try session.run(sql, values.map { .integer($0) }).first?.first?.integer ?? 0)
    }
}

extension SQLiteSession {
    func clock() -> Timestamp? { nil }
}

extension PostgresSession {
    func clock() throws(StoreError) -> Timestamp? {
        let rows = try run("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint", [])
        return rows.first?.first?.integer.map { Timestamp(milliseconds: $0) }
    }
}
