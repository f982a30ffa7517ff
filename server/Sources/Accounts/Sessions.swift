package import Base
package import ServerStore

/// Sessions of browsers, in the database. Each function is for a thread of the store.
package enum Sessions {
    /// Seconds from login to the end.
    package static let lifetime = 14 * 86_400.0
    /// Sessions of one user; the oldest ends for one more.
    static let most: Int64 = 20
    /// Seconds by which clocks may be ahead.
    private static let slack = 86_400.0

    /// - Parameter hash: of the password that was shown.
    /// - Returns: nil when it is not the password any more.
    static func begin(
        of account: Int64, hash: [UInt8], now: Timestamp, in session: any Session
    ) throws(StoreError) -> Secret? {
        try session.transaction { () throws(StoreError) in
            let known = try session.run("SELECT hash FROM passwords WHERE account = $1", .integer(account))
            guard known.first?.first?.bytes == hash else { return nil }
            return try add(of: account, now: now, in: session)
        }
    }

    /// One more, within a transaction; who has shown the password is known.
    static func add(of account: Int64, now: Timestamp, in session: any Session) throws(StoreError) -> Secret {
        let secret = Secret(.session, of: account)
        try session.run(
            "INSERT INTO sessions VALUES ($1, $2, $3, $4)", .integer(account), .bytes(secret.hash),
            .integer(now.milliseconds), .integer(now.advanced(bySeconds: lifetime).milliseconds))
        try session.run(
            """
            DELETE FROM sessions WHERE account = $1 AND (expires <= $2 OR created < (
                SELECT min(created) FROM (
                    SELECT created FROM sessions WHERE account = $1 AND created <= $2
                    ORDER BY created DESC LIMIT $3) AS newest))
            """, .integer(account), .integer(now.milliseconds), .integer(most))
        return secret
    }

    /// Ends all of a user.
    static func endAll(of account: Int64, in session: any Session) throws(StoreError) {
        try session.run("DELETE FROM sessions WHERE account = $1", .integer(account))
    }

    /// - Parameters:
    ///   - now: as the clock has it, which may be behind.
    ///   - latest: the latest moment that it can be. A session that began long after that was begun by a clock that was ahead, and
    ///     would be good for as long.
    /// - Returns: whose session it is; nil when it is none, or none any more.
    package static func user(of secret: Secret, now: Timestamp, latest: Timestamp, in session: any Session)
        throws(StoreError) -> UserEntry?
    {
        guard secret.kind == .session else { return nil }
        let rows = try session.run(
            """
            SELECT u.id, u.name, u.role, u.created, s.hash FROM sessions s JOIN users u ON u.id = s.account
            WHERE s.account = $1 AND s.expires > $2 AND s.created <= $3
            """, .integer(secret.owner), .integer(now.milliseconds),
            .integer(latest.advanced(bySeconds: slack).milliseconds))
        var found: UserEntry?
        // All are compared, whichever it is.
        for row in rows where row[4].bytes.map({ secret.matches($0) }) ?? false { found = Users.entry(row) }
        return found
    }

    /// Ends it; nothing happens if it has ended already.
    package static func end(_ secret: Secret, in session: any Session) throws(StoreError) {
        try session.run(
            "DELETE FROM sessions WHERE account = $1 AND hash = $2", .integer(secret.owner),
            .bytes(secret.hash))
    }
}
