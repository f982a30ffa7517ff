package import ServerStore

/// Whether a vehicle has a fence that it is to have.
package struct FenceState: Equatable, Sendable {
    /// The raw values are those of the interface.
    package enum Standing: String, Sendable {
        /// The vehicle has said that it has the fence.
        case taken
        /// The vehicle has not uploaded since, or not said so yet.
        case waiting
        case refused
    }

    package var device: Int64
    /// The number of the fence.
    package var number: Int64
    package var standing: Standing
    /// Why it takes none, in the vehicle's words, or that it has too many; nil: nothing is against it.
    package var reason: String?
}

extension Fences {
    /// The vehicles that are to have a fence, by number, as far as the viewer sees them.
    ///
    /// - Parameters:
    ///   - last: the last of the page before.
    ///   - book: of this moment, or of one before.
    package static func states(
        of fence: FenceEntry, in book: FenceBook, for viewer: Viewer, after last: Int64, limit: Int64,
        in session: any Session
    ) throws(StoreError) -> [FenceState] {
        let isForIt = """
            AND d.revoked IS NULL AND EXISTS (SELECT 1 FROM fence_targets t WHERE t.fence = $4 AND (t.kind = 0
                OR (t.kind = 1 AND t.target = d.fleet_group) OR (t.kind = 2 AND t.target = d.id)))
            """
        let rows = try session.run(
            """
            SELECT d.id, d.fleet_group, f.digest, f.progress FROM \(Reading.page(isForIt, limit: "$5"))
                LEFT JOIN device_fences f ON f.device = d.id ORDER BY d.id
            """, viewer.cell, .integer(last), .integer(.max), .integer(fence.number), .integer(limit))
        // Nearly all vehicles of a group are to have the same.
        var targets: [Int64?: Target] = [:]
        return rows.compactMap { row in
            guard let device = row[0].integer else { return nil }
            let group = row[1].integer
            let isAlone = book.hasOwn(device)
            let target =
                (isAlone ? nil : targets[group]) ?? Target(of: fence, book.entries(of: device, in: group))
            if !isAlone { targets[group] = target }
            return state(of: fence, device, target, digest: row[2].integer, progress: row[3].text)
        }
    }

    /// What a vehicle is to have, as far as one fence is concerned.
    private struct Target {
        /// The fence; nil where there are too many others.
        let entry: FenceBook.Entry?
        let digest: UInt64

        init(of fence: FenceEntry, _ entries: [FenceBook.Entry]) {
            entry = entries.first { $0.number == fence.number }
            digest = Fences.digest(entries)
        }
    }

    /// The fences that a vehicle is to have, by number.
    ///
    /// - Parameter former: a book of any moment before; it is read anew where something has changed.
    /// - Returns: nil when the viewer sees no such vehicle.
    package static func states(
        of device: Int64, after former: FenceBook, for viewer: Viewer, in session: any Session
    ) throws(StoreError) -> [FenceState]? {
        let book = try FenceBook.read(after: former, in: session) ?? former
        let rows = try session.run(
            """
            SELECT d.fleet_group, f.digest, f.progress FROM devices d LEFT JOIN device_fences f ON f.device = d.id
            WHERE \(Viewer.condition) AND d.id = $2
            """, viewer.cell, .integer(device))
        guard let row = rows.first else { return nil }
        let target = book.entries(of: device, in: row[0].integer)
        let hasAll = row[1].integer.map { UInt64(bitPattern: $0) == digest(target) } ?? false
        let progress = hasAll ? nil : row[2].text.map { FenceProgress(text: $0) }
        return target.map { state(of: $0, device, hasAll: hasAll, progress ?? FenceProgress()) }
    }

    private static func digest(_ target: [FenceBook.Entry]) -> UInt64 {
        target.reduce(0) { $0 &+ $1.fingerprint }
    }

    private static func state(
        of fence: FenceEntry, _ device: Int64, _ target: Target, digest: Int64?, progress: String?
    ) -> FenceState {
        guard let entry = target.entry else {
            return FenceState(
                device: device, number: fence.number, standing: .refused,
                reason: "too_many: it has \(FenceBook.mostOfVehicle) fences, the most that one can have")
        }
        // Where the sums are equal, it has them all: nothing else is read.
        let hasAll = digest.map { UInt64(bitPattern: $0) == target.digest } ?? false
        let progress = hasAll ? nil : progress.map { FenceProgress(text: $0) }
        return state(of: entry, device, hasAll: hasAll, progress ?? FenceProgress())
    }

    private static func state(
        of entry: FenceBook.Entry, _ device: Int64, hasAll: Bool, _ progress: FenceProgress
    ) -> FenceState {
        var state = FenceState(device: device, number: entry.number, standing: .waiting)
        if hasAll || progress.told[entry.name] == entry.fingerprint {
            state.standing = .taken
        } else if let refusal = progress.refused[entry.name], refusal.fingerprint == entry.fingerprint {
            (state.standing, state.reason) = (.refused, refusal.reason)
        } else {
            state.reason = progress.trouble
        }
        return state
    }
}
