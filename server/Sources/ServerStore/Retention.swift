package import Base

/// Removes what is older than is kept, in steps that nobody notices.
package enum Retention {
    /// Rows that one step deletes from a table of SQLite.
    static let step = 1000
    /// Milliseconds that a partition is waited for; uploads wait no longer than that, and are not refused for it.
    static let patience = 200
    /// How often, with all that waited behind it done in between, before it is left for later.
    static let tries = 5

    /// One step.
    ///
    /// - Returns: whether there is more to remove.
    package static func prune(before time: Timestamp, in session: any Session) throws(StoreError) -> Bool {
        try session.prune(before: time)
    }
}

extension Retention {
    /// One step of what is remembered of batches: one that comes again is then judged by its rows.
    ///
    /// - Parameter time: of an id. With PostgreSQL, up to a week more is remembered.
    /// - Returns: whether there is more to remove.
    package static func forgetBatches(before time: Timestamp, in session: any Session) throws(StoreError)
        -> Bool
    {
        try session.forgetBatches(before: time)
    }

    /// What is in the place of an installation that is no longer kept: the column is never NULL.
    static let noInstallation = UUIDv7(bytes: [UInt8](repeating: 0, count: 16))

    /// One step of what is no row of a batch, and says where somebody was or what they did. When a vehicle was heard of is kept,
    /// and that a command was done.
    ///
    /// - Parameters:
    ///   - rows: of before this moment, all rows are gone.
    ///   - lock: of a SELECT. With PostgreSQL, whoever removes waits for nobody: those who upload may wait for it.
    static func pruneRest(
        before time: Timestamp, rows: Timestamp, lock: String, in session: any Session
    ) throws(StoreError) -> Bool {
        let limit = "LIMIT \(step) \(lock)"
        let none = noInstallation.map { Cell.id($0) } ?? .null
        let statements: [(sql: String, values: [Cell])] = [
            (
                """
                DELETE FROM latest WHERE device IN (SELECT device FROM latest WHERE time < $1 \(limit)) RETURNING 1
                """, [.integer(time.milliseconds)]
            ),
            (
                """
                DELETE FROM logs WHERE (device, received) IN (
                    SELECT device, received FROM logs WHERE received < $1 \(limit)) RETURNING 1
                """, [.integer(time.milliseconds)]
            ),
            (
                """
                UPDATE commands SET result = '{}' WHERE (device, number) IN (
                    SELECT device, number FROM commands WHERE finished < $1 AND result <> '{}' \(limit)) RETURNING 1
                """, [.integer(time.milliseconds)]
            ),
            (
                """
                UPDATE presence SET install_id = $1, platform = '', version = '', model = NULL WHERE device IN (
                    SELECT device FROM presence WHERE seen < $2 AND install_id <> $1 \(limit)) RETURNING 1
                """, [none, .integer(time.milliseconds)]
            ),
            (
                """
                UPDATE presence SET status = NULL, status_time = NULL WHERE device IN (
                    SELECT device FROM presence WHERE status_time < $1 \(limit)) RETURNING 1
                """, [.integer(time.milliseconds)]
            ),
            (
                """
                DELETE FROM alerts WHERE (device, id) IN (
                    SELECT device, id FROM alerts WHERE time < $1 \(limit)) RETURNING 1
                """, [.integer(time.milliseconds)]
            ),
            (
                """
                DELETE FROM extras WHERE (device, digest) IN (
                    SELECT device, digest FROM extras WHERE newest < $1 \(limit)) RETURNING 1
                """, [.integer(rows.milliseconds)]
            ),
        ]
        var isMore = false
        for statement in statements {
            let count = try session.run(statement.sql, statement.values).count
            isMore = isMore || count >= step
        }
        return isMore
    }
}

extension SQLiteSession {
    func prune(before time: Timestamp) throws(StoreError) -> Bool {
        let old = Cell.integer(time.milliseconds)
        var isMore = false
        try transaction { () throws(StoreError) in
            for table in ["locations", "events", "vehicle_events"] {
                isMore = try deleteSome(of: table, "t.device, t.time, t.id", "t.time < $1", old) || isMore
            }
            isMore = try deleteBatches(before: time) || isMore
            // Extras go behind the rows that have them.
            guard !isMore else { return }
            isMore = try Retention.pruneRest(before: time, rows: time, lock: "", in: self)
        }
        return isMore
    }

    func forgetBatches(before time: Timestamp) throws(StoreError) -> Bool {
        try deleteBatches(before: time)
    }

    private func deleteBatches(before time: Timestamp) throws(StoreError) -> Bool {
        let moment = UInt64(bitPattern: max(0, time.milliseconds)) << 16
        let firstID =
            (0..<8).map { UInt8(truncatingIfNeeded: moment >> UInt64(56 - 8 * $0)) }
            + [UInt8](repeating: 0, count: 8)
        return try deleteSome(of: "batches", "t.device, t.id", "t.id < $1", .bytes(firstID))
    }

    /// By device, which every key begins with: what is kept is not looked at.
    ///
    /// - Returns: whether there may be more.
    private func deleteSome(
        of table: String, _ key: String, _ condition: String, _ limit: Cell
    ) throws(StoreError) -> Bool {
        let rows = try run(
            """
            DELETE FROM \(table) AS t WHERE (\(key)) IN (
                SELECT \(key) FROM devices d JOIN \(table) t ON t.device = d.id AND \(condition)
                LIMIT \(Retention.step)) RETURNING 1
            """, [limit])
        return rows.count == Retention.step
    }
}

extension PostgresSession {
    /// Deletes whole weeks of rows, or days: a partition goes at once, and costs nothing.
    func prune(before time: Timestamp) throws(StoreError) -> Bool {
        let end = try dropOne(before: time) { _ in true }
        guard let end else { return true }
        return try Retention.pruneRest(before: time, rows: end, lock: "FOR UPDATE SKIP LOCKED", in: self)
    }

    func forgetBatches(before time: Timestamp) throws(StoreError) -> Bool {
        try dropOne(before: time) { $0 == "batches" } == nil
    }

    /// Drops one of the partitions that are over.
    ///
    /// - Parameter isMeant: of a table.
    /// - Returns: where the first period begins that is kept; nil: one was dropped, and there may be more.
    private func dropOne(
        before time: Timestamp, _ isMeant: (String) -> Bool
    ) throws(StoreError) -> Timestamp? {
        do throws(Refusal) {
            let span = try PostgresPartitions.span(in: self)
            let first = span.period(of: time)
            let old = try PostgresPartitions.all(in: self).first { $0.period < first && isMeant($0.table) }
            guard let old else { return Timestamp(milliseconds: first * span.milliseconds) }
            try drop(old.name)
        } catch {
            throw error.error
        }
        partitions.forget()
        return nil
    }

    private func drop(_ table: String) throws(Refusal) {
        var tries = 1
        while true {
            do throws(Refusal) {
                return try atomically { () throws(Refusal) in
                    // It waits for those who use the table, such as pg_dump, and every upload waits behind it.
                    try execute("SET LOCAL lock_timeout = \(Retention.patience)")
                    // PostgreSQL fails (XX000) where two drop the same one at the same moment.
                    _ = try query("SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 2)])
                    try execute("DROP TABLE IF EXISTS \(table)")
                }
            } catch {
                // 55P03: not within that time.
                guard error.sqlState == "55P03", tries < Retention.tries else { throw error }
            }
            tries += 1
        }
    }
}
