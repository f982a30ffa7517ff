package import Base

/// Deletes vehicles with all that they have sent, in steps that nobody notices. A vehicle is gone at once for everybody who looks;
/// its rows go bit by bit, whichever server is there to do it. What is left to do is in the database, so that it goes on after
/// whatever has interrupted it. Each function is for a thread of the store.
package enum Removal {
    /// Rows that one step deletes.
    static let step: Int64 = 1000
    /// Milliseconds for which an upload may still be under way that began before: rows that come in so late go, too.
    package static let grace: Int64 = 300_000

    /// What came of a step.
    package enum Outcome: Equatable, Sendable {
        /// Rows were deleted; there may be more.
        case more
        /// There is nothing to do, or nothing yet.
        case idle
    }

    /// Tables of rows with the columns of their key behind the device.
    private static let rows: [(table: String, key: [String])] = [
        ("locations", ["time", "id"]), ("events", ["time", "id"]), ("vehicle_events", ["time", "id"]),
        ("batches", ["id"]), ("extras", ["digest"]), ("commands", ["number"]), ("logs", ["received"]),
        ("alerts", ["id"]),
    ]

    /// Tables with few rows of a device.
    private static let others = [
        "latest", "presence", "ahead", "votes", "installations", "tokens", "ended_tokens", "links",
        "alert_conditions", "alert_rules",
        "device_fences",
    ]

    /// Begins, within a transaction that has ended its tokens. The number of the device stays taken, and its name is free.
    ///
    /// - Returns: false when there is no such device.
    package static func begin(
        _ device: Int64, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        // No name has a slash.
        let found = try session.run(
            """
            UPDATE devices SET removed = $1, revoked = coalesce(revoked, $1), name = $2, plate = NULL, note = NULL,
                fleet_group = NULL, claim = NULL, enrolment = NULL
            WHERE id = $3 AND removed IS NULL RETURNING id
            """, .integer(now.milliseconds), .text("/\(device)"), .integer(device))
        guard !found.isEmpty else { return false }
        try session.run(
            "INSERT INTO removals(device, since) VALUES ($1, $2)", .integer(device),
            .integer(now.milliseconds))
        // 2: a device, in `FenceTargets.Kind`.
        try session.run("DELETE FROM fence_targets WHERE kind = 2 AND target = $1", .integer(device))
        try FleetRevision.advance(in: session)
        return true
    }

    /// Devices that are being deleted.
    package static func count(in session: any Session) throws(StoreError) -> Int64 {
        try session.run("SELECT count(*) FROM removals").first?.first?.integer ?? 0
    }

    /// One step, of one of the devices that are to be deleted.
    package static func advance(now: Timestamp, in session: any Session) throws(StoreError) -> Outcome {
        try session.transaction { () throws(StoreError) in
            // Of several servers, each has a device of its own.
            let waiting = try session.run(
                "SELECT device, since FROM removals ORDER BY device LIMIT $1 \(session.skippingLocked)",
                .integer(atOnce))
            for row in waiting {
                guard let device = row[0].integer, let since = row[1].integer else { continue }
                if try deleteSome(of: device, in: session) { return .more }
                if now.milliseconds - since >= grace {
                    try session.run("DELETE FROM removals WHERE device = $1", .integer(device))
                }
            }
            return .idle
        }
    }

    /// Devices of which one step looks for rows.
    private static let atOnce: Int64 = 20

    /// One statement that deletes: it waits for no lock while it holds another's.
    ///
    /// - Returns: whether it has deleted something.
    private static func deleteSome(of device: Int64, in session: any Session) throws(StoreError) -> Bool {
        // First, as nobody is to be told of it any more.
        if try Outbox.deleteSome(of: device, in: session) { return true }
        for (table, key) in rows {
            let columns = key.joined(separator: ", ")
            // In the order of the key, so that only the partitions are read that have the first of them.
            let found = try session.run(
                """
                SELECT \(columns) FROM \(table) WHERE device = $1 ORDER BY device, \(columns) LIMIT $2
                """, .integer(device), .integer(step))
            guard let last = found.last else { continue }
            let places = (2..<2 + key.count).map { "$\($0)" }.joined(separator: ", ")
            // The first column by itself: it names the partitions.
            _ = try session.run(
                "DELETE FROM \(table) WHERE device = $1 AND (\(columns)) <= (\(places)) AND \(key[0]) <= $2",
                [.integer(device)] + last)
            return true
        }
        for table in others + session.ownTables {
            let gone = try session.run(
                "DELETE FROM \(table) WHERE device = $1 RETURNING device", .integer(device))
            if !gone.isEmpty { return true }
        }
        return false
    }
}

extension SQLiteSession {
    var skippingLocked: String { "" }
    var ownTables: [String] { [] }
}

extension PostgresSession {
    var skippingLocked: String { "FOR UPDATE SKIP LOCKED" }
    var ownTables: [String] { ["weeks"] }
}
