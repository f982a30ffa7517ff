package import Base
internal import CServerCrypto
package import ServerStore

/// What is stored of the password of a user.
package struct StoredPassword: Equatable, Sendable {
    /// The user, by number.
    let account: Int64
    let salt: [UInt8]
    let hash: [UInt8]
    fileprivate let user: UserEntry
}

/// Passwords of users. What is stored is a hash that is slow to make, with a salt of its own.
package struct Passwords: Sendable {
    private let store: Store
    private let mill: PasswordMill

    package init(store: Store, mill: PasswordMill) {
        self.store = store
        self.mill = mill
    }

    /// - Returns: why it cannot be a password; nil when it can.
    package static func complaint(about password: String) -> String? {
        (10...200).contains(password.unicodeScalars.count) && !password.utf8.contains(0)
            ? nil : "a password has 10 to 200 characters"
    }

    /// What is to be stored of a new password.
    package struct Hashed: Sendable {
        fileprivate let salt: [UInt8]
        fileprivate let hash: [UInt8]
    }

    /// Hashes a new password, which takes its turn among those who log in.
    package func hashed(_ password: String, of name: String) async throws(StoreError) -> Hashed {
        let salt = Secret.random(16)
        // Who may do that is known.
        return Hashed(
            salt: salt, hash: try await mill.hash(password, salt: salt, of: name, isKnown: true))
    }

    /// Gives a user a password. All sessions of the user end.
    ///
    /// - Returns: false when there is no such user.
    package func set(_ password: Hashed, of name: String, now: Timestamp) async throws(StoreError) -> Bool {
        try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                let rows = try session.run("SELECT id FROM users WHERE name = $1", .text(name))
                guard let id = rows.first?.first?.integer else { return false }
                try session.run(
                    """
                    INSERT INTO passwords VALUES ($1, $2, $3, $4) ON CONFLICT (account) DO UPDATE SET
                        salt = excluded.salt, hash = excluded.hash, changed = excluded.changed
                    """, .integer(id), .bytes(password.salt), .bytes(password.hash),
                    .integer(now.milliseconds))
                try Sessions.endAll(of: id, in: session)
                return true
            }
        }
    }

    /// Gives a user who has shown the current password another one. All sessions end, and one begins.
    ///
    /// - Parameter own: the session by which that was asked.
    /// - Returns: nil when password or session are not that any more.
    package func change(
        _ stored: StoredPassword, to password: Hashed, ending own: Secret, now: Timestamp
    ) async throws(StoreError) -> Entry? {
        let begun: Secret? = try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) -> Secret? in
                let changed = try session.run(
                    """
                    UPDATE passwords SET salt = $1, hash = $2, changed = $3 WHERE account = $4 AND hash = $5
                        AND EXISTS (SELECT 1 FROM sessions WHERE account = $4 AND hash = $6) RETURNING account
                    """, .bytes(password.salt), .bytes(password.hash), .integer(now.milliseconds),
                    .integer(stored.account), .bytes(stored.hash), .bytes(own.hash))
                guard !changed.isEmpty else { return nil }
                try Sessions.endAll(of: stored.account, in: session)
                return try Sessions.add(of: stored.account, now: now, in: session)
            }
        }
        let changed = StoredPassword(
            account: stored.account, salt: password.salt, hash: password.hash, user: stored.user)
        return begun.map {
            Entry(user: stored.user, session: $0, browser: KnownBrowser(of: changed, now: now))
        }
    }

    /// Whether it is the password of a user; that takes as long for a name that nobody has.
    ///
    /// - Parameter isKnown: whether it waits among those who are known.
    package func isRight(
        _ password: String, stored: StoredPassword?, of name: String, isKnown: Bool
    ) async throws(StoreError) -> Bool {
        let salt = stored?.salt ?? [UInt8](repeating: 0, count: 16)
        let hash = try await mill.hash(String(password.prefix(200)), salt: salt, of: name, isKnown: isKnown)
        guard let stored, stored.hash.count == hash.count else { return false }
        return CRYPTO_memcmp(stored.hash, hash, hash.count) == 0
    }

    /// - Returns: nil for a name that nobody with a password has.
    package func stored(of name: String) async throws(StoreError) -> StoredPassword? {
        let row = try await store.read { session throws(StoreError) in
            try session.run(
                """
                SELECT u.id, u.name, u.role, u.created, p.salt, p.hash FROM users u
                    JOIN passwords p ON p.account = u.id WHERE u.name = $1
                """, .text(name)
            ).first
        }
        guard let row, let user = Users.entry(row), let salt = row[4].bytes, let hash = row[5].bytes else {
            return nil
        }
        return StoredPassword(account: user.id, salt: salt, hash: hash, user: user)
    }

    /// Whether a browser has shown that this user has logged in from it before.
    package func isKnown(_ browser: KnownBrowser?, to password: StoredPassword?, now: Timestamp) -> Bool {
        guard let browser, let password else { return false }
        return browser.isGood(for: password, now: now)
    }

    /// Begins a session for who knows the password. It takes as long for a name that nobody has.
    ///
    /// - Parameters:
    ///   - stored: of that name; nil when nobody has it.
    ///   - isKnown: whether it waits among those who are known.
    /// - Returns: nil when name and password do not belong together.
    package func logIn(
        _ name: String, _ password: String, stored: StoredPassword?, isKnown: Bool, now: Timestamp
    ) async throws(StoreError) -> Entry? {
        guard try await isRight(password, stored: stored, of: name, isKnown: isKnown), let stored else {
            return nil
        }
        // The password may have been changed meanwhile.
        let session = try await store.write { session throws(StoreError) in
            try Sessions.begin(of: stored.account, hash: stored.hash, now: now, in: session)
        }
        return session.map {
            Entry(user: stored.user, session: $0, browser: KnownBrowser(of: stored, now: now))
        }
    }

    /// A login that succeeded: the user, the new session, and what marks the browser.
    package struct Entry: Sendable {
        package var user: UserEntry
        package var session: Secret
        /// For the next time.
        package var browser: KnownBrowser
    }
}
