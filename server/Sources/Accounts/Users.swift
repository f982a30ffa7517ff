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
        /// A reader who sees the devices of some groups.
        case limitedReader = 3

        /// The name of the role that people type.
        package var name: String {
            switch self {
            case .reader, .limitedReader: "reader"
            case .admin: "admin"
            }
        }
    }

    package var id: Int64
    package var name: String
    package var role: Role
    package var created: Timestamp
    /// Names of the groups that it sees; without meaning for who sees all.
    package var groups: [String] = []

    /// Which vehicles it sees.
    package var viewer: Viewer { role == .admin ? .everything : .user(id) }
}

/// The users, in the database. Each function is for a thread of the store.
package enum Users {
    /// Groups of one user.
    package static let mostGroups = 100

    /// Makes a user with a token, which is shown once.
    ///
    /// - Parameter groups: names of the groups that a reader sees; nil: all vehicles.
    /// - Throws: `.conflict` when the name is taken, or there is no such group.
    package static func add(
        _ name: String, _ role: UserEntry.Role, groups: [String]? = nil, now: Timestamp,
        in session: any Session
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
            var entry = UserEntry(id: id, name: name, role: role, created: now)
            if let groups {
                try limit(id, to: groups, in: session)
                (entry.role, entry.groups) = (.limitedReader, groups)
            }
            return (entry, secret)
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
        var groups: [Int64: [String]] = [:]
        let rows = try session.run(
            "SELECT u.account, g.name FROM user_groups u JOIN fleet_groups g ON g.id = u.fleet_group ORDER BY g.name"
        )
        for row in rows {
            guard let account = row[0].integer, let name = row[1].text else { continue }
            groups[account, default: []].append(name)
        }
        return try session.run("SELECT id, name, role, created FROM users ORDER BY name").compactMap { row in
            var entry = entry(row)
            if let id = entry?.id { entry?.groups = groups[id] ?? [] }
            return entry
        }
    }

    /// Lets a reader see the vehicles of some groups, or all. It counts at once, for what is under way, too.
    ///
    /// - Parameter groups: by name; nil: all vehicles.
    /// - Returns: false when there is no user of that name.
    /// - Throws: `.conflict` when it is an admin, who sees all, or there is no such group.
    package static func setGroups(
        _ groups: [String]?, of name: String, in session: any Session
    ) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            // The lock on the row: of two that do this, the second is what is.
            let rows = try session.run(
                "UPDATE users SET role = role WHERE name = $1 RETURNING id, role", .text(name))
            guard let id = rows.first?[0].integer, let role = rows.first?[1].integer else { return false }
            guard role != UserEntry.Role.admin.rawValue else {
                throw StoreError(
                    .conflict, operation: "limit a user",
                    message: "'\(name)' is an admin, and sees all vehicles")
            }
            try session.run("DELETE FROM user_groups WHERE account = $1", .integer(id))
            if let groups {
                try limit(id, to: groups, in: session)
            } else {
                try session.run(
                    "UPDATE users SET role = $1 WHERE id = $2", .integer(UserEntry.Role.reader.rawValue),
                    .integer(id))
            }
            try FleetRevision.advance(in: session)
            return true
        }
    }

    private static func limit(
        _ account: Int64, to groups: [String], in session: any Session
    ) throws(StoreError) {
        try session.run(
            "UPDATE users SET role = $1 WHERE id = $2", .integer(UserEntry.Role.limitedReader.rawValue),
            .integer(account))
        for group in groups {
            try session.run(
                "INSERT INTO user_groups(account, fleet_group) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                .integer(account), .integer(try Groups.number(of: group, in: session)))
        }
    }

    /// - Returns: false when there is none of that name.
    package static func remove(_ name: String, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run("DELETE FROM users WHERE name = $1 RETURNING id", .text(name))
            guard let id = rows.first?.first?.integer else { return false }
            for table in ["passwords", "sessions", "user_groups"] {
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
