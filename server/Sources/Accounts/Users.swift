package import Base
package import ServerStore

/// A person or program that reads.
package struct UserEntry: Equatable, Sendable {
    /// The raw values are stored.
    package enum Role: Int64, CaseIterable, Sendable {
        /// Sees all devices and their locations.
        case reader = 1
        /// Makes and revokes devices, too.
        case admin = 2

        /// As it is typed.
        package var name: String {
            switch self {
            case .reader: "reader"
            case .admin: "admin"
            }
        }
    }

    package var id: Int64
    package var name: String
    package var role: Role
    package var created: Timestamp
}

/// The users, in the database. Each function is for a thread of the store.
package enum Users {
    /// Makes a user with a token, which is shown once.
    ///
    /// - Throws: `.conflict` when the name is taken.
    package static func add(
        _ name: String, _ role: UserEntry.Role, now: Timestamp, in session: any Session
    ) throws(StoreError) -> (UserEntry, Secret) {
        try session.transaction { () throws(StoreError) in
            let id = try Numbers.next(.user, in: session)
            let secret = Secret(.user, of: id)
            let rows = try session.run(
                """
                INSERT INTO users(id, name, role, hash, created) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT DO NOTHING RETURNING id
                """, .integer(id), .text(name), .integer(role.rawValue), .bytes(secret.hash),
                .integer(now.milliseconds))
            guard !rows.isEmpty else {
                throw StoreError(
                    .conflict, operation: "add a user", message: "there is already a user '\(name)'")
            }
            return (UserEntry(id: id, name: name, role: role, created: now), secret)
        }
    }

    /// - Returns: the user of a token; nil when it is nobody's.
    package static func user(of secret: Secret, in session: any Session) throws(StoreError) -> UserEntry? {
        let rows = try session.run(
            "SELECT id, name, role, created, hash FROM users WHERE id = $1", .integer(secret.owner))
        guard secret.kind == .user, let row = rows.first, let hash = row[4].bytes, secret.matches(hash) else {
            return nil
        }
        return entry(row)
    }

    /// All of them, by name.
    package static func all(in session: any Session) throws(StoreError) -> [UserEntry] {
        try session.run("SELECT id, name, role, created FROM users ORDER BY name").compactMap { entry($0) }
    }

    /// - Returns: false when there is none of that name.
    package static func remove(_ name: String, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run("DELETE FROM users WHERE name = $1 RETURNING id", .text(name))
            guard let id = rows.first?.first?.integer else { return false }
            for table in ["passwords", "sessions"] {
                try session.run("DELETE FROM \(table) WHERE account = $1", .integer(id))
            }
            return true
        }
    }

    static func entry(_ row: [Cell]) -> UserEntry? {
        guard let id = row[0].integer, let name = row[1].text,
            let role = row[2].integer.flatMap({ UserEntry.Role(rawValue: $0) }), let created = row[3].integer
        else { return nil }
        return UserEntry(id: id, name: name, role: role, created: Timestamp(milliseconds: created))
    }
}
