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

        /// The same row, re-queued under another number.
        func renumbered(_ seq: Int64) -> Row {
            Row(ts: ts, seq: seq, id: id, odometer: odometer)
        }

        var key: (Int64, Int64) { (ts, seq) }
        var rejectedLine: String { Contents.rejected(seq: seq, id: hexID) }

        private func describe() -> String {
            Contents.location(ts: ts, seq: seq, id: hexID, odometer: odometer, isUploaded: isUploaded)
        }
    }

    private(set) var rows: [Row] = []
    /// Geofence events and states.
    var crossings = CrossingLedger()
    private var rejected: [Row] = [] {
        didSet { rejectedLines = rejected.sorted { $0.seq < $1.seq }.map(\.rejectedLine) }
    }
    private var rejectedLines: [String] = []
    private(set) var lastSeq: Int64 = 0
    /// Re-queued rows count down from here.
    private var lowestSeq: Int64 = 0
    /// Rows that a draft or a batch holds.
    private var members: [UUIDv7] = []
    private var batch: (line: String, body: [UInt8])?

    var pending: Int { rows.count { !$0.isUploaded } + crossings.pending }
    var isFrozen: Bool { batch != nil }
    var body: [UInt8]? { batch?.body }

    /// The same text as `Contents.text` of the database.
    var text: String {
        (rows.map(\.line) + rejectedLines + (batch.map { [$0.line] } ?? []) + crossings.lines)
            .joined(separator: "\n")
    }

    /// The row is the newest, and the oldest outside a batch go until there are no more than `cap`.
    mutating func insert(ts: Int64, id: UUIDv7, odometer: Int64, cap: Int) {
        lastSeq += 1
        rows.append(Row(ts: ts, seq: lastSeq, id: id, odometer: odometer))
        var surplus = rows.count - cap
        rows.removeAll { row in
            guard surplus > 0, row.seq != lastSeq, !members.contains(row.id) else { return false }
            surplus -= 1
            return true
        }
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
    }

    mutating func reject(at time: Int64) {
        rejected += rows.filter { members.contains($0.id) }.map { row in
            var row = row
            row.rejectedAt = time
            return row
        }
        rows.removeAll { members.contains($0.id) }
        crossings.reject()
        dissolve()
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
        !rejected.isEmpty && (isPurge || rows.count < cap)
    }

    /// All go, or come back, the one rejected first in front, as long as there is room.
    mutating func moveDeadLetters(isPurge: Bool, cap: Int) {
        guard !isPurge else { return rejected = [] }
        let ordered = rejected.sorted { ($0.rejectedAt, $0.seq) < ($1.rejectedAt, $1.seq) }
        let room = max(cap - rows.count, 0)
        for row in ordered.prefix(room) {
            lowestSeq -= 1
            rows.append(row.renumbered(lowestSeq))
        }
        rows.sort { $0.key < $1.key }
        rejected = Array(ordered.dropFirst(room))
    }

    /// Kept rows are pending again, the oldest first in line for the numbers.
    mutating func resend() {
        for index in rows.indices where rows[index].isUploaded {
            lowestSeq -= 1
            rows[index] = rows[index].renumbered(lowestSeq)
        }
        rows.sort { $0.key < $1.key }
    }

    mutating func dissolve() {
        batch = nil
        members = []
        crossings.dissolve()
    }
}
