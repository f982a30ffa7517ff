internal import Accounts
package import Base
package import ServerStore

/// Which vehicles have a fence: every vehicle, those of some groups, or some by themselves.
package struct FenceTargets: Equatable, Sendable {
    package var isEverybody = false
    /// Names by number.
    package var groups: [Int64: String] = [:]
    package var devices: Set<Int64> = []

    package init() {}

    /// The raw values are stored.
    enum Kind: Int64 {
        case everybody = 0
        case group = 1
        case device = 2
    }
}

/// A fence of the fleet.
package struct FenceEntry: Equatable, Sendable {
    package var number: Int64
    /// Unlike that of any other fence: it is the id that vehicles know it by, and name in their events.
    package var name: String
    package var shape: FenceShape
    /// Vehicles and groups that the fence is for, as far as the caller may know of them.
    package var targets: FenceTargets
    package var author: String
    package var created: Timestamp
    /// When its shape or its vehicles were last changed.
    package var changed: Timestamp
}

/// A fence as somebody orders it.
package struct FenceDraft: Equatable, Sendable {
    package var name: String
    package var shape: FenceShape
    package var isForEverybody: Bool
    /// Names.
    package var groups: [String]
    package var devices: [Int64]

    package init(
        name: String, shape: FenceShape, isForEverybody: Bool = false, groups: [String] = [],
        devices: [Int64] = []
    ) {
        self.name = name
        self.shape = shape
        self.isForEverybody = isForEverybody
        self.groups = groups
        self.devices = devices
    }
}

/// The fences of the fleet, in the database. A change is one row, however many vehicles it is for: each is told when it uploads, see
/// `FenceOrders`. Each function is for a thread of the store.
package enum Fences {
    /// Fences that there may be.
    package static let most: Int64 = 10_000
    /// Groups and vehicles that one fence can name.
    package static let mostTargets = 5000

    /// - Parameter number: of the fence that it replaces; nil: it is a new one.
    /// - Returns: nil when there is none of that number.
    /// - Throws: `.conflict` when the name is taken, a group or a vehicle is unknown, or there would be too many for a vehicle.
    package static func put(
        _ draft: FenceDraft, replacing number: Int64? = nil, by author: String, now: Timestamp,
        in session: any Session
    ) throws(StoreError) -> FenceEntry? {
        try session.transaction { () throws(StoreError) in
            // The lock on the row: one change after the other.
            let next = try Numbers.next(.fence, in: session)
            if let number {
                let rows = try session.run("SELECT 1 FROM fences WHERE number = $1", .integer(number))
                guard !rows.isEmpty else { return nil }
            }
            let number = number ?? next
            let others = try session.run(
                "SELECT 1 FROM fences WHERE name = $1 AND number <> $2", .text(draft.name), .integer(number))
            guard others.isEmpty else { throw conflict("there is already a fence '\(draft.name)'") }
            try write(draft, number, by: author, now: now, in: session)
            try writeTargets(of: draft, number, in: session)
            let count = try session.run("SELECT count(*) FROM fences").first?.first?.integer ?? 0
            guard count <= most else { throw conflict("there are \(most) fences already") }
            if let device = try crowded(in: session) {
                throw conflict(
                    "device \(device) would have more than \(FenceBook.mostOfVehicle) fences, the most that one can have"
                )
            }
            try FleetRevision.advance(in: session)
            return try all(for: .everything, only: number, in: session).first
        }
    }

    private static func conflict(_ message: String) -> StoreError {
        StoreError(.conflict, operation: "change a fence", message: message)
    }

    private static func write(
        _ draft: FenceDraft, _ number: Int64, by author: String, now: Timestamp, in session: any Session
    ) throws(StoreError) {
        try session.run(
            """
            INSERT INTO fences(number, name, shape, author, created, changed) VALUES ($1, $2, $3, $4, $5, $5)
            ON CONFLICT (number) DO UPDATE SET name = excluded.name, shape = excluded.shape, changed = excluded.changed
            """, .integer(number), .text(draft.name), .text(draft.shape.members), .text(author),
            .integer(now.milliseconds))
    }

    private static func writeTargets(
        of draft: FenceDraft, _ number: Int64, in session: any Session
    ) throws(StoreError) {
        try session.run("DELETE FROM fence_targets WHERE fence = $1", .integer(number))
        func add(_ kind: FenceTargets.Kind, _ target: Int64) throws(StoreError) {
            try session.run(
                "INSERT INTO fence_targets(fence, kind, target) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                .integer(number), .integer(kind.rawValue), .integer(target))
        }
        if draft.isForEverybody { try add(.everybody, 0) }
        for name in draft.groups {
            try add(.group, try Groups.number(of: name, in: session))
        }
        for device in draft.devices {
            let rows = try session.run(
                "SELECT 1 FROM devices WHERE id = $1 AND removed IS NULL", .integer(device))
            guard !rows.isEmpty else { throw conflict("there is no device \(device)") }
            try add(.device, device)
        }
    }

    /// A vehicle that would have too many fences.
    private static func crowded(in session: any Session) throws(StoreError) -> Int64? {
        // By the sums first: nearly always these say that nobody has.
        let total = try session.run("SELECT count(*) FROM fence_targets").first?.first?.integer ?? 0
        guard total > Int64(FenceBook.mostOfVehicle) else { return nil }
        return try session.run(
            """
            SELECT d.id FROM devices d JOIN fence_targets t ON t.kind = 0
                OR (t.kind = 1 AND t.target = d.fleet_group) OR (t.kind = 2 AND t.target = d.id)
            WHERE d.removed IS NULL AND d.revoked IS NULL
            GROUP BY d.id HAVING count(DISTINCT t.fence) > $1 LIMIT 1
            """, .integer(Int64(FenceBook.mostOfVehicle))
        ).first?.first?.integer
    }

    /// Vehicles that have it forget it when they upload the next time.
    ///
    /// - Returns: false when there is none of that number.
    package static func remove(_ number: Int64, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run(
                "DELETE FROM fences WHERE number = $1 RETURNING number", .integer(number))
            guard !rows.isEmpty else { return false }
            try session.run("DELETE FROM fence_targets WHERE fence = $1", .integer(number))
            try FleetRevision.advance(in: session)
            return true
        }
    }

    /// The fences of vehicles that a viewer sees, by number. Of their groups and vehicles it hears of those that it sees.
    ///
    /// - Parameters:
    ///   - last: number of the last of the page before.
    ///   - only: this one alone.
    package static func all(
        for viewer: Viewer, after last: Int64 = 0, only: Int64? = nil, limit: Int64 = most,
        in session: any Session
    ) throws(StoreError) -> [FenceEntry] {
        let fences = try session.run(
            """
            SELECT f.number, f.name, f.shape, f.author, f.created, f.changed FROM fences f
            WHERE ($1 = 0 OR EXISTS (SELECT 1 FROM users WHERE id = $1 AND role <> \(Viewer.limitedRole))
                OR EXISTS (\(target("t.fence = f.number"))))
                AND f.number > $2 AND f.number = coalesce($3, f.number) ORDER BY f.number LIMIT $4
            """, viewer.cell, .integer(last), .optional(only), .integer(limit))
        guard let first = fences.first?[0].integer, let end = fences.last?[0].integer else { return [] }
        let targets = try session.run(
            target("t.fence >= $2 AND t.fence <= $3"), viewer.cell, .integer(first), .integer(end))
        var known: [Int64: FenceTargets] = [:]
        for row in targets {
            guard let fence = row[0].integer, let target = row[2].integer,
                let kind = row[1].integer.flatMap({ FenceTargets.Kind(rawValue: $0) })
            else { continue }
            switch kind {
            case .everybody: known[fence, default: FenceTargets()].isEverybody = true
            case .group: known[fence, default: FenceTargets()].groups[target] = row[3].text ?? ""
            case .device: known[fence, default: FenceTargets()].devices.insert(target)
            }
        }
        return fences.compactMap { row in
            guard let number = row[0].integer, let name = row[1].text,
                let shape = row[2].text.flatMap({ FenceShape(members: $0) }), let author = row[3].text,
                let created = row[4].integer, let changed = row[5].integer
            else { return nil }
            return FenceEntry(
                number: number, name: name, shape: shape, targets: known[number] ?? FenceTargets(),
                author: author, created: Timestamp(milliseconds: created),
                changed: Timestamp(milliseconds: changed))
        }
    }

    /// Whom fences are for, as far as the viewer `$1` may know of them.
    private static func target(_ condition: String) -> String {
        """
        SELECT t.fence, t.kind, t.target, g.name FROM fence_targets t
            LEFT JOIN fleet_groups g ON t.kind = 1 AND g.id = t.target
        WHERE (t.kind = 0 OR $1 = 0
            OR EXISTS (SELECT 1 FROM users WHERE id = $1 AND role <> \(Viewer.limitedRole))
            OR (t.kind = 1 AND t.target IN (SELECT fleet_group FROM user_groups WHERE account = $1))
            OR (t.kind = 2 AND t.target IN (
                SELECT id FROM devices WHERE removed IS NULL AND fleet_group IN (
                    SELECT fleet_group FROM user_groups WHERE account = $1)))) AND \(condition)
        """
    }
}
