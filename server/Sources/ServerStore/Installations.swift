package import Base
internal import EnvelopeReader

/// Which installation of beekond a device is, in the database. Its tokens may be copied, and who shows them may name any
/// installation: commands are for the one that the device was bound to.
package enum Installations {
    /// The raw values are stored.
    package enum State: Int64, CaseIterable, Sendable {
        /// Commands are for it.
        case bound = 1
        /// The device was bound to it before.
        case earlier = 2
        /// The installation has shown the tokens of a device that is another.
        case other = 3

        /// As the interface has it.
        package var name: String {
            switch self {
            case .bound: "bound"
            case .earlier: "earlier"
            case .other: "other"
            }
        }
    }

    /// One of them.
    package struct Entry: Equatable, Sendable {
        package var id: UUIDv7
        package var state: State
        package var since: Timestamp
    }

    /// Others of a device that are kept; who comes after that is told again.
    static let kept: Int64 = 8

    /// What an upload is to the device whose token it shows.
    enum Standing: Equatable {
        case bound
        /// No installation is bound yet.
        case unbound
        case other
    }

    /// What is to be written.
    enum Change: Equatable {
        case bind(UUIDv7)
        case tell(UUIDv7)

        var told: UUIDv7? {
            switch self {
            case .bind: nil
            case .tell(let id): id
            }
        }
    }

    /// The installations of one device. A value.
    struct Known: Equatable {
        var bound: UUIDv7?
        var others: Set<UUIDv7> = []

        /// - Parameter isCurrent: whether it came with a token that is still the device's. New ones may have been given while its
        ///   body came: who has them is the device.
        mutating func judge(
            _ submission: Submission, isCurrent: Bool
        ) -> (standing: Standing, change: Change?) {
            guard bound != nil || isCurrent else { return (.other, nil) }
            guard let id = submission.batch.device.installID else {
                return (bound == nil ? .unbound : .other, nil)
            }
            // Whoever tests the server with an empty envelope says nothing of a vehicle.
            let identifies = submission.rows > 0 || submission.batch.remarks.status != nil
            guard let bound else {
                guard identifies else { return (.unbound, nil) }
                self.bound = id
                others.remove(id)
                return (.bound, .bind(id))
            }
            if id == bound { return (.bound, nil) }
            guard identifies, others.insert(id).inserted else { return (.other, nil) }
            return (.other, .tell(id))
        }
    }

    /// The columns that `known` reads.
    static let columns = "device, id, state"

    static func known(_ rows: [[Cell]]) -> [Int64: Known] {
        var all: [Int64: Known] = [:]
        for row in rows {
            guard let device = row[0].integer, let id = row[1].id, let state = row[2].integer else {
                continue
            }
            if state == State.bound.rawValue {
                all[device, default: Known()].bound = id
            } else {
                all[device, default: Known()].others.insert(id)
            }
        }
        return all
    }

    /// Within the transaction of an upload, behind the lock on the device's presence.
    static func write<Failure>(
        _ change: Change, of device: Int64, now: Timestamp, run: TokenPairs.Runner<Failure>
    ) throws(Failure) {
        let (id, state) =
            switch change {
            case .bind(let id): (id, State.bound)
            case .tell(let id): (id, State.other)
            }
        // What a clock that was ahead has left behind would be the newest for as long.
        _ = try run(
            "UPDATE installations SET since = $1 WHERE device = $2 AND since > $1",
            [.integer(now.milliseconds), .integer(device)])
        _ = try run(
            """
            INSERT INTO installations(device, id, state, since) VALUES ($1, $2, $3, $4)
            ON CONFLICT (device, id) DO UPDATE SET state = excluded.state, since = excluded.since
            """, [.integer(device), .id(id), .integer(state.rawValue), .integer(now.milliseconds)])
        guard state == .other else { return }
        _ = try run(
            """
            DELETE FROM installations WHERE device = $1 AND state = 3 AND since < (SELECT min(since) FROM (
                SELECT since FROM installations WHERE device = $1 AND state = 3 ORDER BY since DESC LIMIT $2)
                AS newest)
            """, [.integer(device), .integer(kept)])
    }

    // MARK: For admins

    /// The known installations of a device, the newest first.
    package static func all(
        of device: Int64, for viewer: Viewer, in session: any Session
    ) throws(StoreError) -> [Entry] {
        try session.run(
            """
            SELECT id, state, since FROM installations WHERE \(Viewer.seesDevice) AND device = $2
            ORDER BY since DESC, id
            """, viewer.cell, .integer(device)
        ).compactMap { row in
            guard let id = row[0].id, let state = row[1].integer.flatMap({ State(rawValue: $0) }),
                let since = row[2].integer
            else { return nil }
            return Entry(id: id, state: state, since: Timestamp(milliseconds: since))
        }
    }

    /// Binds a device to one of these.
    ///
    /// - Returns: false when it is none of them.
    package static func confirm(
        _ id: UUIDv7, of device: Int64, in session: any Session
    ) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            try lock(device, in: session)
            let rows = try session.run(
                "SELECT 1 FROM installations WHERE device = $1 AND id = $2", .integer(device), .id(id))
            guard !rows.isEmpty else { return false }
            try session.run(
                "UPDATE installations SET state = 2 WHERE device = $1 AND state = 1", .integer(device))
            try session.run(
                "UPDATE installations SET state = 1 WHERE device = $1 AND id = $2", .integer(device), .id(id))
            try Changes.note([device], in: session)
            return true
        }
    }

    /// The next one that uploads is bound; within a transaction.
    package static func unbind(_ device: Int64, in session: any Session) throws(StoreError) {
        try lock(device, in: session)
        try session.run("DELETE FROM installations WHERE device = $1 AND state = 3", .integer(device))
        try session.run("UPDATE installations SET state = 2 WHERE device = $1", .integer(device))
    }

    /// As uploads do.
    private static func lock(_ device: Int64, in session: any Session) throws(StoreError) {
        try session.run("UPDATE presence SET seen = seen WHERE device = $1", .integer(device))
    }
}
