import Base
import Support

@testable import Storage
@testable import Tracking

/// What the store should hold, as plainly as it can be kept: a list of rows, and what became of every row that ever was.
struct Model {
    struct Row {
        var id: UUIDv7
        var ts: Int64
        var seq: Int64
        var session: Int
        var extras: String?
        var fate = Fate.pending
        /// When it became a dead letter.
        var rejectedAt: Int64 = 0

        var key: RowKey { RowKey(ts: ts, seq: seq) }
        var isStored: Bool { fate == .pending || fate == .uploaded }
    }

    /// A row is in one of these states, and goes only where an arrow leads.
    enum Fate: Equatable {
        case pending, uploaded, rejected
        // From here no way leads back.
        case acknowledged, deleted, prunedByAge, prunedByCap, expired

        var next: [Fate] {
            switch self {
            case .pending: [.uploaded, .acknowledged, .rejected, .deleted, .prunedByAge, .prunedByCap]
            // Sent again on demand.
            case .uploaded: [.pending, .deleted, .prunedByAge, .prunedByCap]
            case .rejected: [.pending, .deleted, .expired]
            case .acknowledged, .deleted, .prunedByAge, .prunedByCap, .expired: []
            }
        }
    }

    struct Batch {
        var id: UUIDv7
        var rows: Set<UUIDv7>
        var body: [UInt8]
        var isPiece = false
        var isPermanent = false
        /// Failures in a row for its size.
        var oversized = 0
    }

    var options: StoreOptions
    /// Rows that are still in the database, dead letters among them, in the order of their keys.
    private(set) var rows: [Row] = []
    private(set) var ends: [Fate: Int] = [:]
    private(set) var inserted = 0
    private(set) var lastSeq: Int64 = 0
    /// Re-queued rows count down from here.
    var batches: [Batch] = []
    var draft: Set<UUIDv7> = []
    var rejectionsInARow = 0
    /// Dead letters since the latest acknowledgement, and rows that have been some.
    private(set) var streak: Set<UUIDv7> = []
    private(set) var losses = Losses()
    /// The first trusted time after the latest suspicion.
    private(set) var trustedSince = Int64.min
    var endpoint: Int64 = 0
    /// In the order in which they were first seen.
    private(set) var sessions: [Int] = []
    private(set) var faults: [String] = []

    var stored: [Row] { rows.filter(\.isStored) }
    var pending: [Row] { rows.filter { $0.fate == .pending } }
    var rejected: [Row] { rows.filter { $0.fate == .rejected } }

    var counts: StoreCounts {
        let pending = pending
        return StoreCounts(
            locations: rows.count(where: \.isStored), pending: pending.count,
            oldestPending: pending.first.map { Timestamp(milliseconds: $0.ts) },
            rejected: rows.count { $0.fate == .rejected }, losses: losses)
    }

    /// Every row that was ever written is in one place, and in one only.
    var isConserved: Bool { rows.count + ends.values.reduce(0, +) == inserted }

    private mutating func move(_ fate: Fate, where isMeant: (Row) -> Bool) -> Int {
        var count = 0
        for index in rows.indices where isMeant(rows[index]) {
            if !rows[index].fate.next.contains(fate) {
                faults.append("a row went from \(rows[index].fate) to \(fate)")
            }
            rows[index].fate = fate
            count += 1
        }
        if fate.next.isEmpty {
            ends[fate, default: 0] += count
            rows.removeAll { $0.fate == fate }
        }
        return count
    }

    // MARK: The rules

    mutating func enter(_ session: Int) {
        if !sessions.contains(session) { sessions.append(session) }
    }

    /// The row, and what retention takes with it.
    mutating func insert(id: UUIDv7, ts: Int64, session: Int, extras: String?, byAge: Bool) {
        enter(session)
        prune(at: ts, byAge: byAge)
        lastSeq += 1
        inserted += 1
        let row = Row(id: id, ts: ts, seq: lastSeq, session: session, extras: extras)
        let index = rows.firstIndex { $0.key > row.key } ?? rows.endIndex
        rows.insert(row, at: index)
    }

    private mutating func prune(at ts: Int64, byAge: Bool) {
        let held = batches.reduce(draft) { $0.union($1.rows) }
        let free = stored.filter { !held.contains($0.id) }
        let cutoff = ts - Int64(options.retention * 1000)
        // As many as one write may prune.
        let byCap = overCap(adding: 1, limit: 100)
        let candidates =
            options.isSyncing
            ? stored.filter { $0.fate == .uploaded && $0.ts < cutoff && !byCap.contains($0.id) } : free
        var old =
            byAge ? Set(candidates.prefix(8).filter { $0.ts < cutoff }.map(\.id)).subtracting(byCap) : []
        if byAge, let unsent = options.unsentRetention, !options.holdsRows {
            let cutoff = ts - Int64(unsent * 1000)
            let late = free.filter { $0.fate == .pending && $0.ts < cutoff }
            old.formUnion(Set(late.prefix(8).map(\.id)).subtracting(byCap))
        }
        drop(byCap)
        losses.pruned += rows.count { old.contains($0.id) && $0.fate == .pending }
        _ = move(.prunedByAge) { old.contains($0.id) }
    }

    /// What has been uploaded goes first.
    private func overCap(adding count: Int, limit: Int) -> Set<UUIDv7> {
        let held = batches.reduce(draft) { $0.union($1.rows) }
        let surplus = min(max(0, stored.count + count - options.maxRows), limit)
        let free = stored.filter { !held.contains($0.id) }
        let ordered = free.filter { $0.fate == .uploaded } + free.filter { $0.fate == .pending }
        return Set(ordered.prefix(surplus).map(\.id))
    }

    private mutating func drop(_ ids: Set<UUIDv7>) {
        losses.dropped += rows.count { ids.contains($0.id) && $0.fate == .pending }
        _ = move(.prunedByCap) { ids.contains($0.id) }
    }

    /// The cap has been lowered.
    mutating func shrink() {
        drop(overCap(adding: 0, limit: 1000))
    }

    /// The rows that the next batch must carry.
    func nextBatch(limit: Int) -> [Row]? {
        let pending = pending
        guard batches.isEmpty,
            let session = sessions.first(where: { one in pending.contains { $0.session == one } })
        else { return nil }
        let rows = pending.filter { $0.session == session }.prefix(limit)
        return rows.filter { $0.extras == rows.first?.extras }
    }

    mutating func acknowledge(_ ids: Set<UUIDv7>) -> Int {
        if rejectionsInARow >= 3 { trustedSince = .max }
        rejectionsInARow = 0
        streak = []
        return move(options.keepsUploaded ? .uploaded : .acknowledged) {
            ids.contains($0.id) && $0.fate == .pending
        }
    }

    /// Whether the endpoint is suspected; then the streak is back.
    mutating func countRejection(of batch: Batch) -> Bool {
        let wasSuspected = rejectionsInARow >= 3
        if !batch.isPiece { rejectionsInARow += 1 }
        guard wasSuspected || !batch.isPiece && rejectionsInARow >= 3 else { return false }
        rejectionsInARow = max(rejectionsInARow, 3)
        let back = streak
        _ = putBack { back.contains($0.id) }
        return true
    }

    /// Returns nil when the endpoint is suspected instead.
    ///
    /// - Parameter expiry: dead letters from before this go, unless they may still come back.
    mutating func reject(_ batch: Batch, at time: Int64, expiry: Int64?) -> Int? {
        if countRejection(of: batch) { return nil }
        if expiry != nil { trustedSince = min(trustedSince, time) }
        if let expiry, trustedSince < expiry {
            let spared = streak
            losses.expired += move(.expired) {
                $0.fate == .rejected && $0.rejectedAt < expiry && !spared.contains($0.id)
            }
        }
        streak.formUnion(batch.rows)
        batches.removeAll { $0.id == batch.id }
        for index in rows.indices where batch.rows.contains(rows[index].id) { rows[index].rejectedAt = time }
        return move(.rejected) { batch.rows.contains($0.id) }
    }

    /// The dead letters are pending again, the one rejected first in front, as long as there is room.
    mutating func requeue() -> Int { putBack { _ in true } }

    /// What has been uploaded makes room, and nothing else does.
    private mutating func putBack(_ isMeant: (Row) -> Bool) -> Int {
        let wanted = rejected.filter(isMeant)
        let free = max(options.maxRows - stored.count, 0)
        let doomed = Set(
            stored.filter { $0.fate == .uploaded }.prefix(max(wanted.count - free, 0)).map(\.id))
        drop(doomed)
        let letters = wanted.sorted { ($0.rejectedAt, $0.seq) < ($1.rejectedAt, $1.seq) }
            .prefix(free + doomed.count)
        let ids = Set(letters.map(\.id))
        return move(.pending) { ids.contains($0.id) }
    }

    /// Kept rows are pending again.
    mutating func resend(_ range: ClosedRange<Int64>) -> Int {
        let kept = rows.filter { $0.fate == .uploaded && range.contains($0.ts) }
        let ids = Set(kept.map(\.id))
        return move(.pending) { ids.contains($0.id) }
    }

    /// Returns nil when it may not be dissolved.
    mutating func rebatch() -> Batch? {
        guard let first = batches.first, first.oversized >= 3 else { return nil }
        return batches.removeFirst()
    }

    mutating func purge() -> Int {
        move(.deleted) { $0.fate == .rejected }
    }

    /// Returns how many rows went, and the batches that lost some.
    mutating func delete(before cutoff: Int64?) -> (count: Int, dissolved: [UUIDv7]) {
        let limit = cutoff ?? .max
        let doomed = Set(rows.filter { $0.ts <= limit }.map(\.id))
        let dissolved = batches.filter { !$0.rows.isDisjoint(with: doomed) }.map(\.id)
        batches.removeAll { dissolved.contains($0.id) }
        return (move(.deleted) { doomed.contains($0.id) }, dissolved)
    }

    mutating func adopt(_ endpoint: Int64) {
        if endpoint != self.endpoint { batches.removeAll(where: \.isPermanent) }
        self.endpoint = endpoint
    }
}
