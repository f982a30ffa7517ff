package import Base
internal import CServerCrypto
package import ServerStore

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

    /// Gives a user a password. All sessions of the user end.
    ///
    /// - Returns: false when there is no such user.
    package func set(_ password: String, of name: String, now: Timestamp) async throws(StoreError) -> Bool {
        let salt = Secret.random(16)
        let hash = try await mill.hash(password, salt: salt)
        return try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                let rows = try session.run("SELECT id FROM users WHERE name = $1", .text(name))
                guard let id = rows.first?.first?.integer else { return false }
                try session.run(
                    """
                    INSERT INTO passwords VALUES ($1, $2, $3, $4) ON CONFLICT (account) DO UPDATE SET
                        salt = excluded.salt, hash = excluded.hash, changed = excluded.changed
                    """, .integer(id), .bytes(salt), .bytes(hash), .integer(now.milliseconds))
                try session.run("DELETE FROM sessions WHERE account = $1", .integer(id))
                return true
            }
        }
    }

    /// Begins a session for who knows the password. It takes as long for a name that nobody has.
    ///
    /// - Returns: nil when name and password do not belong together.
    package func logIn(
        _ name: String, _ password: String, now: Timestamp
    ) async throws(StoreError) -> (user: UserEntry, session: Secret)? {
        let row = try await store.read { session throws(StoreError) in
            try session.run(
                """
                SELECT u.id, u.name, u.role, u.created, p.salt, p.hash FROM users u
                    JOIN passwords p ON p.account = u.id WHERE u.name = $1
                """, .text(name)
            ).first
        }
        let salt = row?[4].bytes ?? [UInt8](repeating: 0, count: 16)
        let hash = try await mill.hash(String(password.prefix(200)), salt: salt)
        guard let row, let user = Users.entry(row), let known = row[5].bytes, known.count == hash.count,
            CRYPTO_memcmp(known, hash, hash.count) == 0
        else { return nil }
        // The password may have been changed meanwhile.
        let session = try await store.write { session throws(StoreError) in
            try Sessions.begin(of: user.id, hash: hash, now: now, in: session)
        }
        return session.map { (user, $0) }
    }
}
