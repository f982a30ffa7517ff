/// Who looks. Every query of vehicles takes one, and tells of no other vehicles than this one may see: what was changed, or taken
/// away, counts from the next query on.
package enum Viewer: Hashable, Sendable {
    /// Whoever sees all vehicles by their role, and the server itself.
    case everything
    /// A user, by number: sees all vehicles, or those of some groups, as the database has it.
    case user(Int64)
    /// Who is not known sees nothing.
    case nobody

    /// The parameter of `condition`, always the first of a statement.
    package var cell: Cell {
        switch self {
        case .everything: .integer(0)
        case .user(let id): .integer(id)
        case .nobody: .integer(-1)
        }
    }

    /// Whether `$1` may see a device `d`, which is not being deleted. The same text for everybody, so that it is parsed once.
    package static let condition = """
        d.removed IS NULL AND ($1 = 0 OR EXISTS (SELECT 1 FROM users WHERE id = $1 AND role <> \(limitedRole))
            OR d.fleet_group IN (SELECT fleet_group FROM user_groups WHERE account = $1))
        """

    /// `$1` may see the device `$2`. It names nothing of the query around it, and is looked at once.
    package static let seesDevice = "EXISTS (SELECT 1 FROM devices d WHERE \(condition) AND d.id = $2)"

    /// As `users.role` has those who see the vehicles of their groups. Servers of schema 3 do not know it, and let them see nothing.
    package static let limitedRole: Int64 = 3

    /// Whether there is such a device, as far as this one may know.
    package func sees(_ device: Int64, in session: any Session) throws(StoreError) -> Bool {
        try !session.run("SELECT 1 WHERE \(Self.seesDevice)", cell, .integer(device)).isEmpty
    }

    /// What a viewer sees, for who asks for many at once.
    package enum Scope: Hashable, Sendable {
        case everything
        /// By number.
        case groups(Set<Int64>)

        /// - Parameter group: of a device; nil: it is in none.
        package func contains(_ group: Int64?) -> Bool {
            switch self {
            case .everything: true
            case .groups(let groups): group.map { groups.contains($0) } ?? false
            }
        }
    }

    package func scope(in session: any Session) throws(StoreError) -> Scope {
        guard self != .everything else { return .everything }
        let rows = try session.run(
            """
            SELECT u.role, g.fleet_group FROM users u LEFT JOIN user_groups g ON g.account = u.id WHERE u.id = $1
            """, cell)
        guard let role = rows.first?[0].integer else { return .groups([]) }
        return role == Self.limitedRole ? .groups(Set(rows.compactMap { $0[1].integer })) : .everything
    }
}

/// A number that grows with each change of what people see of the fleet: names, groups, rights, vehicles that are gone. Who shows
/// vehicles then asks anew.
package enum FleetRevision {
    package static func read(from session: any Session) throws(StoreError) -> Int64 {
        try session.run("SELECT next FROM numbers WHERE kind = 'fleet'").first?.first?.integer ?? 0
    }

    /// Within the transaction of the change, as the last of it: whoever changes something else waits.
    package static func advance(in session: any Session) throws(StoreError) {
        try session.run("UPDATE numbers SET next = next + 1 WHERE kind = 'fleet'")
    }
}
