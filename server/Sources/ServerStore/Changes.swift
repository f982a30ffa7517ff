/// The vehicles of which something was heard: each transaction that changes what people see of vehicles leaves a row with their numbers.
/// So whoever shows vehicles asks for those that have changed, and not for all, however many there are; whichever server took their
/// uploads.
///
/// The rows have the numbers of their transactions, in the order in which these began. PostgreSQL says of each moment below which
/// number all have ended, so that none is passed over that ends later than one behind it. With SQLite, where one writes at a time,
/// they are counted. Each function is for a thread of the store.
package enum Changes {
    /// A moment, by numbers of transactions.
    package struct Moment: Equatable, Sendable {
        /// Below this number all transactions have ended.
        var ended: Int64
        /// From this number on none has begun.
        var next: Int64
    }

    /// How far somebody has looked. A value.
    package struct Cursor: Equatable, Sendable {
        private(set) var moment: Moment
        /// When that was.
        private(set) var time: ContinuousClock.Instant
        /// Numbers at or above `moment.ended` that were looked at.
        private var known: Set<Int64> = []
        /// A moment that is minutes ago. Transactions of ours that had begun by then have ended; another program's may be under way
        /// for hours, and then what has changed since would be read again with each look.
        private var past: (next: Int64, time: ContinuousClock.Instant)

        /// Looks at what changes from this moment on.
        package init(at moment: Moment, _ time: ContinuousClock.Instant) {
            self.moment = moment
            self.time = time
            past = (moment.ended, time)
        }

        package static func == (left: Cursor, right: Cursor) -> Bool {
            left.moment == right.moment && left.time == right.time && left.known == right.known
        }

        /// The least number that it looks at.
        var first: Int64 { moment.ended }

        /// Whether rows may have been removed that it has not seen, or the database is not the one that it was.
        func isLost(at now: Moment, _ time: ContinuousClock.Instant) -> Bool {
            now.next < moment.next || time - self.time > Changes.patience
        }

        /// Moves on.
        ///
        /// - Parameter numbers: of the rows from `first` up to `now.next`, as they were to be seen then, or later.
        /// - Returns: those that are new.
        mutating func advance(to now: Moment, _ time: ContinuousClock.Instant, numbers: Set<Int64>) -> Set<
            Int64
        > {
            let new = numbers.subtracting(known)
            let isOld = time - past.time > Changes.longest
            moment = Moment(ended: max(now.ended, isOld ? past.next : moment.ended), next: now.next)
            if isOld { past = (now.next, time) }
            known = known.union(new).filter { $0 >= moment.ended }
            self.time = time
            return new
        }
    }

    /// For which a transaction of ours may be under way: each of its statements has its own limit.
    private static let longest = Duration.seconds(300)
    /// Who has not looked for as long asks for all.
    private static let patience = Duration.seconds(300)
    /// For which rows are kept at least: longer than anybody looks back.
    package static let kept = Duration.seconds(600)
    /// Rows that one step removes.
    private static let step: Int64 = 5000

    /// Within a transaction that has changed what people see of these vehicles.
    package static func note(_ devices: [Int64], in session: any Session) throws(StoreError) {
        guard !devices.isEmpty else { return }
        try session.run("INSERT INTO changes(devices) VALUES ($1)", .text(text(devices)))
    }

    /// As a row has them.
    static func text(_ devices: [Int64]) -> String { devices.map { "\($0)" }.joined(separator: ",") }

    /// From now on.
    package static func begin(in session: any Session) throws(StoreError) -> Cursor {
        Cursor(at: try session.moment(), .now)
    }

    /// Moves a cursor on.
    ///
    /// - Returns: the vehicles that have changed since it was moved last, by number; nil: that is not known, and the cursor begins
    ///   anew.
    package static func read(
        _ cursor: inout Cursor, now time: ContinuousClock.Instant, from session: any Session
    ) throws(StoreError) -> [Int64]? {
        let moment = try session.moment()
        guard !cursor.isLost(at: moment, time) else {
            cursor = Cursor(at: moment, time)
            return nil
        }
        // What a backup of another cluster has left has numbers of its own.
        let rows = try session.run(
            "SELECT number, devices FROM changes WHERE number >= $1 AND number < $2",
            .integer(cursor.first), .integer(moment.next))
        let new = cursor.advance(to: moment, time, numbers: Set(rows.compactMap { $0[0].integer }))
        var devices: Set<Int64> = []
        for row in rows {
            guard let number = row[0].integer, new.contains(number), let text = row[1].text else { continue }
            for part in text.split(separator: ",") {
                if let device = Int64(part) { devices.insert(device) }
            }
        }
        return devices.sorted()
    }

    /// What may be removed: all rows below.
    package static func limit(in session: any Session) throws(StoreError) -> Int64 {
        try session.moment().next
    }

    /// One step; the newest row stays, so that no number of SQLite comes again.
    ///
    /// - Returns: whether there is more to remove.
    package static func prune(below number: Int64, in session: any Session) throws(StoreError) -> Bool {
        let rows = try session.run(
            """
            DELETE FROM changes WHERE number IN (
                SELECT number FROM changes WHERE number < $1 AND number < (SELECT max(number) FROM changes)
                ORDER BY number LIMIT $2 \(session.skippingLocked)) RETURNING 1
            """, .integer(number), .integer(step))
        try session.forgetForeignChanges()
        return rows.count == step
    }
}

extension SQLiteSession {
    func moment() throws(StoreError) -> Changes.Moment {
        let next = 1 + (try run("SELECT max(number) FROM changes", []).first?.first?.integer ?? 0)
        return Changes.Moment(ended: next, next: next)
    }

    /// There is no other.
    func forgetForeignChanges() {}
}

extension PostgresSession {
    func moment() throws(StoreError) -> Changes.Moment {
        let row = try run(
            """
            SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint FROM pg_current_snapshot() AS s
            """, []
        ).first
        guard let ended = row?[0].integer, let next = row?[1].integer else {
            throw StoreError(.failed, operation: "read changes", message: "PostgreSQL has no snapshot")
        }
        return Changes.Moment(ended: ended, next: next)
    }

    func forgetForeignChanges() throws(StoreError) {
        // A row that is to be seen was written before this statement; by this cluster, its number is below.
        _ = try run(
            "DELETE FROM changes WHERE number >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint", [])
    }
}
