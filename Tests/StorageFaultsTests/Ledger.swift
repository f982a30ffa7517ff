import Base
import Storage
import Tracking

/// What the store should hold: the contract on rows and batches, without a database.
struct Ledger {
    struct Row {
        let ts: Int64
        let seq: Int64
        let id: UUIDv7
        private let odometer: Int64
        /// When it became a dead letter.
        var rejectedAt: Int64 = 0
        /// Since the latest acknowledgement.
        var isInStreak = false
        private let hexID: String
        private(set) var line: String
        var isUploaded = false {
            didSet { line = describe() }
        }

        init(ts: Int64, seq: Int64, id: UUIDv7, odometer: Int64) {
            (self.ts, self.seq, self.id, self.odometer) = (ts, seq, id, odometer)
            (hexID, line) = (id.hex, "")
            line = describe()
        }

        /// The row, pending again.
        func returned() -> Row {
            Row(ts: ts, seq: seq, id: id, odometer: odometer)
        }

        var key: (Int64, Int64) { (ts, seq) }
        var rejectedLine: String { Contents.rejected(seq: seq, id: hexID, levels: levels) }

        private var levels: String {
            Contents.levels(ignition: .sample(odometer), battery: .sample(odometer))
        }

        private func describe() -> String {
            Contents.location(
                ts: ts, seq: seq, id: hexID, odometer: odometer, isUploaded: isUploaded, levels: levels)
        }
    }

    private(set) var rows: [Row] = []
    /// Geofence events and states.
    var crossings = CrossingLedger()
    /// What the server has asked for.
    var commands = CommandLedger()
    private var rejected: [Row] = [] {
        didSet { rejectedLines = rejected.sorted { $0.seq < $1.seq }.map(\.rejectedLine) }
    }
    private var rejectedLines: [String] = []
    private var rejections = 0
    /// The first time after the latest suspicion.
    private var trustedSince = Int64.min
    private var dropped = 0
    private var expired = 0
    private var pruned = 0
    private(set) var lastSeq: Int64 = 0
    /// Re-queued rows count down from here.
    /// Rows that a draft or a batch holds.
    private var members: [UUIDv7] = []
    private var batch: (line: String, body: [UInt8])?

    var pending: Int { rows.count { !$0.isUploaded } + crossings.pending }
    var isFrozen: Bool { batch != nil }
    var body: [UInt8]? { batch?.body }

    /// What `Contents.text` of the database must be.
    var text: String {
        (rows.map(\.line) + rejectedLines + (batch.map { [$0.line] } ?? []) + crossings.lines + counters
            + commands.lines).joined(separator: "\n")
    }

    private var counters: [String] {
        [("dropped_unsent", dropped), ("expired", expired), ("pruned", pruned)].filter { $0.1 > 0 }.map {
            Contents.counter($0, $1)
        }
    }

    /// The row is the newest, and the oldest outside a batch go until there are no more than `cap`; first those that have
    /// been uploaded.
    ///
    /// - Parameter cutoff: the oldest pending rows outside the batch from before this go as well, at most eight, and events.
    mutating func insert(ts: Int64, id: UUIDv7, odometer: Int64, cap: Int, before cutoff: Int64?) {
        let late = rows.filter { !$0.isUploaded && !members.contains($0.id) && $0.ts < cutoff ?? .min }
            .prefix(8).map(\.seq)
        lastSeq += 1
        rows.append(Row(ts: ts, seq: lastSeq, id: id, odometer: odometer))
        var surplus = rows.count - cap
        for isUploaded in [true, false] {
            rows.removeAll { row in
                guard surplus > 0, row.isUploaded == isUploaded, row.seq != lastSeq, !members.contains(row.id)
                else { return false }
                surplus -= 1
                dropped += isUploaded ? 0 : 1
                return true
            }
        }
        // What the cap takes counts as taken by the cap.
        let left = rows.count
        rows.removeAll { late.contains($0.seq) }
        pruned += left - rows.count
        if let cutoff { pruned += crossings.age(before: cutoff, besides: members) }
    }

    mutating func draft(_ ids: [UUIDv7]) {
        members = ids
    }

    mutating func freeze(id: UUIDv7, body: [UInt8]) {
        batch = (Contents.batch(id: id.hex, body: hex(body)), body)
        crossings.freeze(members)
    }

    mutating func acknowledge(keeping: Bool) {
        if keeping {
            for index in rows.indices where members.contains(rows[index].id) { rows[index].isUploaded = true }
        } else {
            rows.removeAll { members.contains($0.id) }
        }
        crossings.acknowledge(keeping: keeping)
        dissolve()
        if rejections >= 3 { trustedSince = .max }
        rejections = 0
        for index in rejected.indices { rejected[index].isInStreak = false }
    }

    /// Returns whether the endpoint is suspected; then the batch stays, and the streak is back.
    mutating func reject(at time: Int64, cap: Int) -> Bool {
        rejections += 1
        guard rejections < 3 else {
            putBack(cap: cap) { $0.isInStreak }
            crossings.putStreakBack()
            return true
        }
        trustedSince = min(trustedSince, time)
        let expiry = trustedSince < time - 7 * 86_400_000 ? time - 7 * 86_400_000 : .min
        let isExpired = { (row: Row) in row.rejectedAt < expiry && !row.isInStreak }
        expired += rejected.count(where: isExpired) + crossings.expire(before: expiry)
        rejected.removeAll(where: isExpired)
        rejected += rows.filter { members.contains($0.id) }.map { row in
            var row = row
            (row.rejectedAt, row.isInStreak) = (time, true)
            return row
        }
        rows.removeAll { members.contains($0.id) }
        crossings.reject(at: time)
        dissolve()
        return false
    }

    mutating func delete(before cutoff: Int64?) {
        let limit = cutoff ?? .max
        if rows.contains(where: { $0.ts <= limit && members.contains($0.id) })
            || crossings.isFrozen(before: limit)
        {
            dissolve()
        }
        crossings.delete(before: limit)
        rows.removeAll { $0.ts <= limit }
        rejected.removeAll { $0.ts <= limit }
    }

    /// Whether a step is taken for locations; one for events follows.
    func movesDeadLetters(isPurge: Bool, cap: Int) -> Bool {
        !rejected.isEmpty && (isPurge || rows.count < cap || rows.contains(where: \.isUploaded))
    }

    /// All go, or come back, the one rejected first in front, as long as there is room.
    mutating func moveDeadLetters(isPurge: Bool, cap: Int) {
        if isPurge { rejected = [] } else { putBack(cap: cap) { _ in true } }
    }

    private mutating func putBack(cap: Int, _ isMeant: (Row) -> Bool) {
        let ordered = rejected.filter(isMeant).sorted { ($0.rejectedAt, $0.seq) < ($1.rejectedAt, $1.seq) }
        var wanted = ordered.count - max(cap - rows.count, 0)
        rows.removeAll { row in
            guard wanted > 0, row.isUploaded else { return false }
            wanted -= 1
            return true
        }
        let back = Array(ordered.prefix(max(cap - rows.count, 0)))
        rows += back.map { $0.returned() }
        rows.sort { $0.key < $1.key }
        rejected.removeAll { row in back.contains { $0.id == row.id } }
    }

    /// Kept rows are pending again.
    mutating func resend() {
        for index in rows.indices where rows[index].isUploaded { rows[index] = rows[index].returned() }
    }

    mutating func dissolve() {
        batch = nil
        members = []
        crossings.dissolve()
    }
}
