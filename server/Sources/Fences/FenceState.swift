package import ServerStore

/// Whether a vehicle has a fence that it is to have.
package struct FenceState: Equatable, Sendable {
    /// The raw values are those of the interface.
    package enum Standing: String, Sendable {
        /// It has said so.
        case taken
        /// It has not uploaded since, or not said so yet.
        case waiting
        case refused
    }

    package var device: Int64
    package var standing: Standing
    /// Why it takes none, in the vehicle's words; nil: it has said nothing against it.
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
        try session.run(
            """
            SELECT d.id, d.fleet_group, f.digest, f.progress FROM devices d LEFT JOIN device_fences f ON f.device = d.id
            WHERE \(Viewer.condition) AND d.revoked IS NULL AND d.id > $2 AND EXISTS (
                SELECT 1 FROM fence_targets t WHERE t.fence = $3 AND (t.kind = 0
                    OR (t.kind = 1 AND t.target = d.fleet_group) OR (t.kind = 2 AND t.target = d.id)))
            ORDER BY d.id LIMIT $4
            """, viewer.cell, .integer(last), .integer(fence.number), .integer(limit)
        ).compactMap { row in
            guard let device = row[0].integer else { return nil }
            return state(
                of: fence, device, row[1].integer, digest: row[2].integer, progress: row[3].text, book)
        }
    }

    private static func state(
        of fence: FenceEntry, _ device: Int64, _ group: Int64?, digest: Int64?, progress: String?,
        _ book: FenceBook
    ) -> FenceState {
        let target = book.entries(of: device, in: group)
        // Where the sums are equal, it has them all: nothing else is read.
        if let digest, UInt64(bitPattern: digest) == target.reduce(0, { $0 &+ $1.fingerprint }) {
            return FenceState(device: device, standing: .taken)
        }
        let progress = progress.map { FenceProgress(text: $0) } ?? FenceProgress()
        guard let entry = target.first(where: { $0.number == fence.number }) else {
            return FenceState(
                device: device, standing: .refused,
                reason: "it has \(FenceBook.mostOfVehicle) fences already, the most that one can have")
        }
        if progress.told[entry.name] == entry.fingerprint {
            return FenceState(device: device, standing: .taken)
        }
        if let refusal = progress.refused[entry.name], refusal.fingerprint == entry.fingerprint {
            return FenceState(device: device, standing: .refused, reason: refusal.reason)
        }
        return FenceState(device: device, standing: .waiting, reason: progress.trouble)
    }
}
