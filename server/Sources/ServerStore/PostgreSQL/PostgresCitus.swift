internal import Base

/// Citus: several PostgreSQL as one. The rows of vehicles, which grow, lie on its workers, by device and in one group, so that all
/// rows of a vehicle are on one of them. Everything else is small, and stays at the coordinator as plain tables:
///
/// - tokens, claims and commands are locked row by row, and joined at will;
/// - `changes`, and whatever else is read in the order of transactions, goes by the coordinator's transactions. Citus commits there
///   first and at the workers right after, so that what is distributed may be seen a moment later than the change that tells of it:
///   what `changes` tells of (`latest`, `presence`) must be at the coordinator, too;
/// - with a worker away, vehicles whose rows are elsewhere can do everything, and the others all but upload and read rows.
///
/// A table of a later version is one of these without anything being done.
enum PostgresCitus {
    /// Whether this database has it; without it, nothing has the names of its tables.
    private static func hasExtension(in session: PostgresSession) throws(PostgresSession.Refusal) -> Bool {
        let found = try session.query("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL", [])
        return found.first?.first?.integer == 1
    }

    /// Whether the rows of vehicles are distributed.
    static func isUsed(in session: PostgresSession) throws(PostgresSession.Refusal) -> Bool {
        guard try hasExtension(in: session) else { return false }
        return try !session.query(
            "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = to_regclass('locations')", []
        ).isEmpty
    }

    /// Whether it is a worker of Citus, and no coordinator.
    static func isWorker(_ session: PostgresSession) throws(PostgresSession.Refusal) -> Bool {
        guard try hasExtension(in: session) else { return false }
        return try !session.query("SELECT 1 FROM pg_dist_local_group WHERE groupid <> 0", []).isEmpty
    }

    /// What a database that is distributed has for all its connections. With one connection after the other, and kept ones, a group
    /// of batches costs a third; a `SET LOCAL` that limits how long a lock is waited for is of use at workers alone.
    private static let settings = [
        ("citus.multi_shard_modify_mode", "sequential"), ("citus.max_cached_conns_per_worker", "8"),
        ("citus.propagate_set_commands", "local"),
    ]
    /// Shards of each table for each worker: every week is one table a shard.
    private static let shardsOfWorker = 4
    /// Nobody waits for a worker that is away for longer than that; in minutes.
    private static let patience = 2

    /// Distributes what is to be distributed, and not yet; with all that is in it.
    ///
    /// - Returns: what there is now, in a sentence.
    static func distribute(shards: Int?, in session: PostgresSession) throws(PostgresSession.Refusal)
        -> String
    {
        guard try hasExtension(in: session) else {
            throw refusal(
                "Citus is not in this database: 'CREATE EXTENSION citus' here and at each worker, and 'SELECT citus_add_node(…)' for each, come first"
            )
        }
        let workers = try workers(in: session)
        guard workers > 0 else {
            throw refusal("Citus has no worker yet: SELECT citus_add_node('name', 5432) for each comes first")
        }
        try configure(session)
        for (place, table) in PostgresPartitions.tables.enumerated() {
            try session.atomically { () throws(PostgresSession.Refusal) in
                // Nobody makes partitions meanwhile, or distributes.
                _ = try session.query("SELECT pg_advisory_xact_lock($1)", [.integer(PostgresSchema.lock + 1)])
                guard try !tables(in: session).keys.contains(table) else { return }
                let group =
                    place == 0
                    ? "'none', shard_count => \(shards ?? Int(workers) * shardsOfWorker)"
                    : "'\(PostgresPartitions.tables[0])'"
                // Who uploads waits for it; for all that there is to be carried, no limit is right.
                try session.execute("SET LOCAL statement_timeout = 0")
                try session.execute("SET LOCAL lock_timeout = 0")
                try session.execute(
                    "SELECT create_distributed_table('\(table)', 'device', colocate_with => \(group))")
                try session.execute("SELECT truncate_local_data_after_distributing_table('\(table)')")
            }
        }
        let facts = try facts(in: session)
        if let trouble = facts?.troubles.first { throw refusal(trouble) }
        // Servers ask at their connects.
        try session.endOthers()
        return facts?.summary ?? ""
    }

    private static func refusal(_ message: String) -> PostgresSession.Refusal {
        PostgresSession.Refusal(operation: "distribute", sqlState: "", message: message, isLost: false)
    }

    /// For all connections from now on, and this one.
    private static func configure(_ session: PostgresSession) throws(PostgresSession.Refusal) {
        for (name, value) in settings {
            let statement = try session.texts(
                "SELECT format('ALTER DATABASE %I SET \(name) = ''\(value)''', current_database())")
            if let statement = statement.first.flatMap({ $0 }) { try session.execute(statement) }
            try session.execute("SET \(name) = '\(value)'")
        }
    }

    private static func workers(in session: PostgresSession) throws(PostgresSession.Refusal) -> Int64 {
        try session.query(
            "SELECT count(*) FROM pg_dist_node WHERE isactive AND shouldhaveshards AND noderole = 'primary'",
            []
        ).first?.first?.integer ?? 0
    }

    /// The partitioned tables that are distributed by device, with the number of their group.
    private static func tables(in session: PostgresSession) throws(PostgresSession.Refusal) -> [String: Int64]
    {
        let rows = try session.query(
            """
            SELECT c.relname::text, p.colocationid::bigint FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
            WHERE c.relname = ANY($1) AND pg_table_is_visible(c.oid) AND p.partmethod = 'h'
                AND column_to_column_name(p.logicalrelid, p.partkey) = 'device'
            """, with: [.array(.text, PostgresPartitions.tables.map { .text($0) })])
        var tables: [String: Int64] = [:]
        for row in rows {
            if let name = row[0].text, let group = row[1].integer { tables[name] = group }
        }
        return tables
    }

    // MARK: How it is

    /// - Returns: nil where there is no Citus, or no worker.
    static func facts(in session: PostgresSession) throws(PostgresSession.Refusal) -> Upkeep.Citus? {
        guard try hasExtension(in: session) else { return nil }
        let workers = try workers(in: session)
        let tables = try tables(in: session)
        guard workers > 0 || !tables.isEmpty else { return nil }
        let shards = try session.query(
            "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = to_regclass('locations')", [])
        var facts = Upkeep.Citus(
            summary:
                "\(PostgresPartitions.tables.joined(separator: ", ")) lie on workers (\(workers)), each in \(shards.first?.first?.integer ?? 0) shards; everything else is at the coordinator"
        )
        let missing = PostgresPartitions.tables.filter { tables[$0] == nil }
        if !missing.isEmpty {
            facts.troubles.append(
                "\(missing.joined(separator: ", ")): not distributed by device; 'beekon-server distribute' does it"
            )
        } else if Set(tables.values).count > 1 {
            facts.troubles.append(
                "\(PostgresPartitions.tables.joined(separator: ", ")) are not in one group (colocation_id in citus_tables): 'SELECT undistribute_table(…)' for those that differ, and 'beekon-server distribute'"
            )
        }
        for (name, value) in settings {
            let found = try session.query("SELECT current_setting($1, true)", [.text(name)]).first?.first?
                .text
            guard found != value else { continue }
            facts.troubles.append(
                "\(name) is \(found ?? "not set"): 'beekon-server distribute' sets it to \(value)")
        }
        facts.troubles += try troublesOfWorkers(in: session)
        return facts
    }

    /// Workers that do not answer, and what waits there for its end.
    private static func troublesOfWorkers(
        in session: PostgresSession
    ) throws(PostgresSession.Refusal) -> [String] {
        let rows = try session.query(
            """
            SELECT n.nodename::text, n.nodeport::bigint, r.success, r.result FROM run_command_on_workers($1) r
                JOIN pg_dist_node n ON n.nodename = r.nodename AND n.nodeport = r.nodeport ORDER BY 1, 2
            """,
            [
                .text(
                    """
                    SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()
                        AND gid LIKE 'citus\\_%' AND prepared < now() - interval '\(patience) minutes'
                    """)
            ])
        return rows.compactMap { row in
            let worker = "worker \(row[0].text ?? ""):\(row[1].integer ?? 0)"
            guard row[2].integer == 1 else {
                return "\(worker) does not answer: \(PostgresSession.line(row[3].text ?? ""))"
            }
            guard let count = row[3].text, count != "0" else { return nil }
            return
                "\(worker) has prepared transactions (\(count)) of more than \(patience) minutes ago; Citus ends them by itself: if it does not, see 'SELECT recover_prepared_transactions()'"
        }
    }
}

extension PostgresSession {
    /// - Throws: when it is a worker of Citus: the tables are not there.
    func refuseWorker() throws(StoreError) {
        do throws(Refusal) {
            guard try PostgresCitus.isWorker(self) else { return }
        } catch {
            throw error.error
        }
        throw StoreError(
            .failed, operation: "connect",
            message:
                "this PostgreSQL is a worker of Citus: the address of the database is that of the coordinator"
        )
    }

    func distribute(shards: Int?) throws(StoreError) -> String {
        do throws(Refusal) {
            return try PostgresCitus.distribute(shards: shards, in: self)
        } catch {
            throw error.error
        }
    }
}
