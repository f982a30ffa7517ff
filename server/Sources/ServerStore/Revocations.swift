/// Ends of tokens that an admin has ordered, as far as uploads may not have heard of them: tokens are judged from memory, and the
/// transaction that stores an upload sees here whether they have ended since. Each function is within a transaction.
///
/// Whoever ends tokens waits for the uploads that are under way, and those that come later see it: once the admin has the answer,
/// nothing is stored with such a token any more, by any server.
package enum Revocations {
    /// Ends all tokens that a device had so far. Behind `excludeUploads`, which comes first in the transaction.
    package static func note(_ device: Int64, in session: any Session) throws(StoreError) {
        let rows = try session.run(
            "UPDATE numbers SET next = next + 1 WHERE kind = 'revocation' RETURNING next - 1")
        guard let number = rows.first?.first?.integer else {
            throw StoreError(.failed, operation: "end tokens", message: "the database has no number for it")
        }
        try session.run(
            "INSERT INTO revocations(device, number) VALUES ($1, $2)", .integer(device), .integer(number))
    }

    /// The number that the next one gets: whoever has read it knows of all below.
    package static let next = "(SELECT next FROM numbers WHERE kind = 'revocation')"

    /// A row where the tokens of device `$1` have ended since `$2`, the number of the first that was not known.
    static let ended = "SELECT 1 FROM revocations WHERE device = $1 AND number >= $2"

    /// Whether the tokens of a device have ended since.
    ///
    /// - Parameter known: the number of the first that was not known.
    package static func has(
        _ device: Int64, since known: Int64, in session: any Session
    ) throws(StoreError) -> Bool {
        return try !session.run(ended, .integer(device), .integer(known)).isEmpty
    }

    /// What may be removed: all below.
    package static func limit(in session: any Session) throws(StoreError) -> Int64 {
        try session.run("SELECT next FROM numbers WHERE kind = 'revocation'").first?.first?.integer ?? 0
    }

    package static func prune(below number: Int64, in session: any Session) throws(StoreError) {
        try session.run("DELETE FROM revocations WHERE number < $1", .integer(number))
    }
}

extension SQLiteSession {
    /// One writes at a time.
    func excludeUploads() {}
    func joinUploads() {}
}

extension PostgresSession {
    /// Uploads hold it together.
    static let lockOfUploads = PostgresSchema.lock + 3
    /// Milliseconds that uploads under way are waited for; others wait behind that.
    private static let patienceWithUploads = 2000

    func excludeUploads() throws(StoreError) {
        do throws(Refusal) {
            // DEFAULT would be PostgreSQL's own, without a limit: the session has its limit by SET.
            try execute(
                """
                SELECT set_config('beekon.lock_timeout', current_setting('lock_timeout'), true);
                SET LOCAL lock_timeout = \(Self.patienceWithUploads);
                SELECT pg_advisory_xact_lock(\(Self.lockOfUploads));
                SELECT set_config('lock_timeout', current_setting('beekon.lock_timeout'), true)
                """)
        } catch {
            throw error.error
        }
    }

    func joinUploads() throws(StoreError) {
        do throws(Refusal) {
            try execute("SELECT pg_advisory_xact_lock_shared(\(Self.lockOfUploads))")
        } catch {
            throw error.error
        }
    }
}
