package import Base

/// Removes what is older than is kept, in steps that nobody notices.
package enum Retention {
    /// Rows that one step deletes from a table of SQLite.
    static let step = 1000

    /// One step.
    ///
    /// - Returns: whether there is more to remove.
    package static func prune(before time: Timestamp, in session: any Session) throws(StoreError) -> Bool {
        try session.prune(before: time)
    }
}

extension SQLiteSession {
    func prune(before time: Timestamp) throws(StoreError) -> Bool {
        let moment = UInt64(bitPattern: max(0, time.milliseconds)) << 16
        let firstID =
            (0..<8).map { UInt8(truncatingIfNeeded: moment >> UInt64(56 - 8 * $0)) }
            + [UInt8](repeating: 0, count: 8)
        let tables: [(name: String, key: String, old: String, limit: Cell)] = [
            ("locations", "t.device, t.time, t.id", "t.time < $1", .integer(time.milliseconds)),
            ("events", "t.device, t.time, t.id", "t.time < $1", .integer(time.milliseconds)),
            ("vehicle_events", "t.device, t.time, t.id", "t.time < $1", .integer(time.milliseconds)),
            ("batches", "t.device, t.id", "t.id < $1", .bytes(firstID)),
        ]
        var isMore = false
        try transaction { () throws(StoreError) in
            for table in tables {
                // By device, which every key begins with: what is kept is not looked at.
                let rows = try run(
                    """
                    DELETE FROM \(table.name) AS t WHERE (\(table.key)) IN (
                        SELECT \(table.key) FROM devices d JOIN \(table.name) t ON t.device = d.id AND \(table.old)
                        LIMIT \(Retention.step)) RETURNING 1
                    """, [table.limit])
                isMore = isMore || rows.count == Retention.step
            }
        }
        return isMore
    }
}

extension PostgresSession {
    /// Whole weeks: a partition goes at once, and costs nothing.
    func prune(before time: Timestamp) throws(StoreError) -> Bool {
        let tables = try run(
            """
            SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_class p ON p.oid = i.inhparent
            WHERE p.relname IN ('locations', 'events', 'vehicle_events', 'batches') AND pg_table_is_visible(c.oid)
            """, [])
        let first = PostgresPartitions.week(of: time)
        let old = tables.compactMap { $0.first?.text }.first { name in
            guard let mark = name.lastIndex(of: "w"), let week = Int64(name[name.index(after: mark)...])
            else {
                return false
            }
            return week < first
        }
        guard let old else { return false }
        do throws(Refusal) {
            try execute("DROP TABLE IF EXISTS \(old)")
        } catch {
            throw error.error
        }
        partitions.forget()
        return true
    }
}
