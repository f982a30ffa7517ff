internal import CPostgres
internal import Glibc

/// What comes between a connection and its first work.
extension PostgresSession {
    /// What every session has, whatever the database has for other programs, unless `options` of the address say otherwise. Who has
    /// waited for a lock sees what the other has written.
    private static let settings = [
        ("statement_timeout", "30000"), ("lock_timeout", "10000"), ("synchronous_commit", "on"),
        ("default_transaction_isolation", "read committed"), ("idle_session_timeout", "0"),
    ]

    /// By SET, as pgbouncer takes no `options`.
    ///
    /// - Parameter isReader: it cannot write.
    func settle(isReader: Bool) throws(StoreError) {
        // A warning behind COMMIT has to be seen.
        let own =
            [("client_min_messages", "warning")] + (isReader ? [("default_transaction_read_only", "on")] : [])
        func list(_ settings: [(String, String)]) -> String {
            settings.map { "('\($0.0)', '\($0.1)')" }.joined(separator: ", ")
        }
        try throwing { () throws(Refusal) in
            // A source of `client` is the address.
            _ = try texts(
                """
                SELECT set_config(v.name, v.value, false) FROM (VALUES \(list(Self.settings))) AS v(name, value)
                    JOIN pg_settings s ON s.name = v.name WHERE s.source <> 'client'
                UNION ALL
                SELECT set_config(v.name, v.value, false) FROM (VALUES \(list(own))) AS v(name, value)
                """)
        }
    }

    func upgrade() throws(StoreError) {
        try throwing { () throws(Refusal) in try PostgresSchema.upgrade(self) }
    }

    /// Makes what only those who write need; on a standby it could not be made.
    func stage() throws(StoreError) {
        do throws(Refusal) {
            try execute(PostgresSchema.staging)
            isDistributed = try PostgresCitus.isUsed(in: self)
        } catch {
            // 42P07: another session has left them behind.
            guard isPooled, error.sqlState == "42P07" else { throw error.error }
            throw StoreError(.unavailable, operation: "connect", message: Self.sharing)
        }
    }

    // MARK: Which one it is

    /// What it says of itself, whatever settings it has.
    func identity() throws(StoreError) -> PostgresIdentity {
        let facts = "pg_is_in_recovery(), current_setting('transaction_read_only') = 'on', pg_backend_pid(), "
        let place = "to_regclass('timelines') IS NOT NULL, "
        do throws(Refusal) {
            var row: [String?]
            do throws(Refusal) {
                row = try texts(
                    """
                    SELECT \(facts)\(place)(SELECT system_identifier FROM pg_control_system()),
                        CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END
                    """)
            } catch {
                // One that has no such functions, or not for us, cannot be told from an old primary.
                guard !error.isLost else { throw error }
                row = try texts("SELECT \(facts)\(place)NULL, NULL")
            }
            var identity = PostgresIdentity()
            guard row.count == 6 else { return identity }
            identity.isStandby = row[0] == "t"
            identity.isReadOnly = row[1] == "t"
            let process = row[2].flatMap { Int64($0) } ?? 0
            note(process: process)
            identity.process = process
            identity.hasNotes = row[3] == "t"
            identity.system = row[4].flatMap { Int64($0) }
            identity.timeline = row[5].flatMap { Int64($0.prefix(8), radix: 16) }
            if identity.hasNotes, let system = identity.system {
                let noted = try texts("SELECT timeline FROM timelines WHERE system = \(system)")
                identity.noted = noted.first.flatMap { $0 }.flatMap { Int64($0) }
            }
            return identity
        } catch {
            throw error.error
        }
    }

    /// - Parameter isLower: also where a higher one is noted.
    func noteTimeline(_ timeline: Int64, of system: Int64, isLower: Bool = false) throws(StoreError) {
        try throwing { () throws(Refusal) in
            try atomically { () throws(Refusal) in
                // It is no reason to wait for a standby.
                try execute("SET LOCAL synchronous_commit = local")
                try execute(
                    """
                    INSERT INTO timelines(system, timeline) VALUES (\(system), \(timeline))
                    ON CONFLICT (system) DO UPDATE SET timeline = excluded.timeline
                    \(isLower ? "" : "WHERE timelines.timeline < excluded.timeline")
                    """)
            }
        }
    }

    /// For servers that reach nothing but this old primary: it tells them itself when they connect next, which is now.
    func fence(_ timeline: Int64, of system: Int64) throws(StoreError) {
        try noteTimeline(timeline, of: system)
        try throwing { () throws(Refusal) in try endOthers() }
    }

    /// Ends the connections that servers have here.
    func endOthers() throws(Refusal) {
        _ = try texts(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'beekon-server' AND usename = current_user
                AND datname = current_database() AND pid <> pg_backend_pid()
            """)
    }

    // MARK: Who stands between

    /// How long a second connection is waited for. In session mode, a pool that has one alone never gives it.
    private static let patience = Duration.seconds(2)

    /// - Throws: when a pooler gives the server to another between two transactions: then temporary tables, prepared statements and
    ///   settings belong to somebody else.
    func refuseSharing(_ parameters: [(name: String, value: String)]) throws(StoreError) {
        let process = try identity().process
        guard isPooled else { return }
        let other = try PostgresSession(parameters)
        // The connection that was used last is the first that is given.
        let found = other.text("SELECT pg_backend_pid()", within: Self.patience)
        guard try identity().process == process, found != "\(process)" else {
            throw StoreError(.failed, operation: "connect", message: Self.sharing)
        }
    }

    /// - Returns: the only value; nil when it does not come in time, or at all.
    private func text(_ sql: String, within patience: Duration) -> String? {
        guard PQsendQuery(raw, sql) == 1 else { return nil }
        let end = ContinuousClock.now + patience
        while PQisBusy(raw) == 1 {
            let left = end - .now
            guard left > .zero else { return nil }
            var wait = pollfd(fd: PQsocket(raw), events: Int16(POLLIN), revents: 0)
            let milliseconds =
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            _ = poll(&wait, 1, Int32(clamping: milliseconds + 1))
            guard PQconsumeInput(raw) == 1 else { return nil }
        }
        return PostgresResult(PQgetResult(raw)).texts.first.flatMap { $0 }
    }

    private func throwing(_ body: () throws(Refusal) -> Void) throws(StoreError) {
        do throws(Refusal) { try body() } catch { throw error.error }
    }
}
