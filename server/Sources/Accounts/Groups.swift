package import Base
package import ServerStore

/// A group of vehicles, which some readers see and others do not.
package struct GroupEntry: Equatable, Sendable {
    package var name: String
    package var created: Timestamp
    /// Vehicles in it.
    package var devices: Int64
    /// Readers who see the vehicles of their groups, this one among them.
    package var readers: Int64
}

/// The groups of vehicles, in the database. A vehicle is in one group, or in none; a reader sees all vehicles, or those of some
/// groups. Each function is for a thread of the store.
package enum Groups {
    /// Groups that there may be.
    package static let most: Int64 = 1000

    /// - Throws: `.conflict` when the name is taken, or there are as many as may be.
    package static func add(
        _ name: String, now: Timestamp, in session: any Session
    ) throws(StoreError) -> GroupEntry {
        try session.transaction { () throws(StoreError) in
            let id = try Numbers.next(.group, in: session)
            let count = try session.run("SELECT count(*) FROM fleet_groups").first?.first?.integer
            guard let count, count < most else {
                throw StoreError(
                    .conflict, operation: "add a group", message: "there are \(most) groups already")
            }
            let rows = try session.run(
                """
                INSERT INTO fleet_groups(id, name, created) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id
                """, .integer(id), .text(name), .integer(now.milliseconds))
            guard !rows.isEmpty else {
                throw StoreError(
                    .conflict, operation: "add a group", message: "there is already a group '\(name)'")
            }
            return GroupEntry(name: name, created: now, devices: 0, readers: 0)
        }
    }

    /// All of them, by name.
    package static func all(in session: any Session) throws(StoreError) -> [GroupEntry] {
        try session.run(
            """
            SELECT g.name, g.created, (SELECT count(*) FROM devices d WHERE d.fleet_group = g.id),
                (SELECT count(*) FROM user_groups u WHERE u.fleet_group = g.id) FROM fleet_groups g ORDER BY g.name
            """
        ).compactMap { row in
            guard let name = row[0].text, let created = row[1].integer, let devices = row[2].integer,
                let readers = row[3].integer
            else { return nil }
            return GroupEntry(
                name: name, created: Timestamp(milliseconds: created), devices: devices, readers: readers)
        }
    }

    /// Removes a group. Its vehicles are in none afterwards; its readers do not see them any more.
    ///
    /// - Returns: false when there is none of that name.
    /// - Throws: `.conflict` when a rule is for it: that would be for no vehicle any more.
    package static func remove(_ name: String, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run("DELETE FROM fleet_groups WHERE name = $1 RETURNING id", .text(name))
            guard let id = rows.first?.first?.integer else { return false }
            let rules = try session.run(
                "SELECT name FROM alert_rules WHERE fleet_group = $1 ORDER BY name LIMIT 1", .integer(id))
            if let rule = rules.first?[0].text {
                throw StoreError(
                    .conflict, operation: "remove a group",
                    message: "the rule '\(rule)' is for this group: change or remove it first")
            }
            try session.run("UPDATE devices SET fleet_group = NULL WHERE fleet_group = $1", .integer(id))
            try session.run("DELETE FROM user_groups WHERE fleet_group = $1", .integer(id))
            // 1: a group, in `FenceTargets.Kind`.
            try session.run("DELETE FROM fence_targets WHERE kind = 1 AND target = $1", .integer(id))
            try FleetRevision.advance(in: session)
            return true
        }
    }

    /// The number of a group, for a row that is made in the same transaction: it stays until that has ended.
    ///
    /// - Throws: `.conflict` when there is none of that name.
    package static func number(of name: String, in session: any Session) throws(StoreError) -> Int64 {
        let rows = try session.run(
            "UPDATE fleet_groups SET name = name WHERE name = $1 RETURNING id", .text(name))
        guard let id = rows.first?.first?.integer else {
            throw StoreError(.conflict, operation: "find a group", message: "there is no group '\(name)'")
        }
        return id
    }
}
