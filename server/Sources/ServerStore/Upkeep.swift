package import Base

/// What an operator does with the database as a whole. Each function is for a thread of the store.
package enum Upkeep {
    /// What the database says of itself.
    package struct Facts: Equatable, Sendable {
        /// The program and its version, such as `PostgreSQL 15.14`.
        package var program: String
        /// Version of the tables.
        package var schema: Int
        /// Bytes.
        package var size: Int64
        /// Whether COMMIT waits for the disk.
        package var isDurable: Bool
        /// What is damaged; nil when nothing was found.
        package var damage: String?
        /// Where what is committed has gone; nil when it is where it belongs.
        package var loss: String?
        /// What Citus has of it; nil: there is none.
        package var citus: Citus?
    }

    /// What is distributed over several PostgreSQL.
    package struct Citus: Equatable, Sendable {
        /// How much, in a sentence.
        package var summary: String
        /// What is wrong with it, and what to do.
        package var troubles: [String] = []
    }

    package static func facts(from session: any Session) throws(StoreError) -> Facts {
        try session.facts()
    }

    /// Makes the partitions that the next days will need, so that no batch waits for them when a week begins. SQLite needs
    /// nothing.
    package static func prepare(at now: Timestamp, in session: any Session) throws(StoreError) {
        try session.prepare(at: now)
    }

    /// Writes a copy of an SQLite database, as of one moment, while it is in use.
    ///
    /// - Parameter path: of a file that does not exist.
    /// - Throws: `.failed` with PostgreSQL, which has programs for it.
    package static func copy(to path: String, from session: any Session) throws(StoreError) {
        try session.copy(to: path)
    }
}

extension SQLiteSession {
    func prepare(at now: Timestamp) {}

    func facts() throws(StoreError) -> Upkeep.Facts {
        func text(_ sql: String) throws(StoreError) -> String? {
            try run(sql, []).first?.first.flatMap { $0.text ?? $0.integer.map { "\($0)" } }
        }
        let pages = Int64(try text("PRAGMA page_count") ?? "") ?? 0
        let size = Int64(try text("PRAGMA page_size") ?? "") ?? 0
        // Not quick_check: SQLite before 3.41 takes sound tables WITHOUT ROWID for damaged. The keys in order are most of it.
        let found = if let damage { damage } else { try text("PRAGMA integrity_check(1)") }
        var loss: String?
        do throws(StoreError) { try confirm() } catch { loss = error.message }
        return Upkeep.Facts(
            program: "SQLite \(try text("SELECT sqlite_version()") ?? "")",
            schema: Int(try text("PRAGMA user_version") ?? "") ?? 0, size: pages * size, isDurable: true,
            damage: found == "ok" ? nil : found, loss: loss)
    }

    func copy(to path: String) throws(StoreError) {
        _ = try run("VACUUM INTO $1", [.text(path)])
    }
}

extension PostgresSession {
    func choose(_ span: PostgresPartitions.Span) throws(StoreError) {
        do throws(Refusal) {
            try PostgresPartitions.choose(span, in: self)
        } catch {
            throw error.error
        }
    }

    /// The files of PostgreSQL are the database server's.
    func confirm() {}

    func prepare(at now: Timestamp) throws(StoreError) {
        // Another server may have made them, or dropped those that this one knew.
        partitions.forget()
        do throws(Refusal) {
            try partitions.makeAhead(of: now, in: self)
        } catch {
            throw error.error
        }
    }

    func facts() throws(StoreError) -> Upkeep.Facts {
        func value(_ sql: String) throws(StoreError) -> Cell? { try run(sql, []).first?.first }
        let isSynced = try value("SELECT current_setting('fsync')")?.text == "on"
        let isAwaited = try value("SELECT current_setting('synchronous_commit')")?.text != "off"
        var facts = Upkeep.Facts(
            program: "PostgreSQL \(try value("SELECT current_setting('server_version')")?.text ?? "")",
            schema: Int(try value("SELECT version FROM beekon_schema")?.integer ?? 0),
            size: try value("SELECT pg_database_size(current_database())")?.integer ?? 0,
            isDurable: isSynced && isAwaited, damage: nil)
        do throws(Refusal) {
            facts.citus = try PostgresCitus.facts(in: self)
        } catch {
            throw error.error
        }
        return facts
    }

    func copy(to path: String) throws(StoreError) {
        throw StoreError(
            .conflict, operation: "backup", message: "PostgreSQL is backed up by pg_dump or pg_basebackup")
    }
}
