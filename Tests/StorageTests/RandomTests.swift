import Support
import Testing

@testable import Storage
@testable import Tracking

/// What the store should hold, as plainly as it can be kept: lists.
private struct Model {
    struct Row {
        var id: UUIDv7
        var seconds: Double
        var session: Int
        var isUploaded = false
        var isRejected = false
    }

    var rows: [Row] = []
    var frozen: (batch: FrozenBatch, ids: Set<UUIDv7>)?
    /// Every id that a batch ever had, with its bytes.
    var bytes: [UUIDv7: [UInt8]] = [:]
    var rejectionsInARow = 0

    var counts: StoreCounts {
        let pending = rows.filter { !$0.isUploaded && !$0.isRejected }
        return StoreCounts(
            locations: rows.count { !$0.isRejected }, pending: pending.count,
            oldestPending: pending.map(\.seconds).min().map(time), rejected: rows.count(where: \.isRejected))
    }
}

private struct Run {
    let workshop: Workshop
    var model = Model()
    var random: SeededGenerator
    var session = 1
    var now = 0.0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        workshop = try Workshop(StoreOptions(keepsUploaded: seed % 2 == 0, isSyncing: true))
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60: try insert()
        case 60..<70: try freeze()
        case 70..<80: try acknowledge()
        case 80..<85: try reject()
        case 85..<89: try delete()
        case 89..<91: try workshop.reopen()
        case 91: try moveDeadLetters()
        case 92..<94: workshop.store.close()
        case 94..<96: session += 1
        case 96..<97: try workshop.store.close(session: uuid(session), at: time(now))
        default: break
        }
    }

    private mutating func insert() throws {
        now += Double(Int.random(in: -3...10, using: &random))
        let extras = Int.random(in: 0..<10, using: &random) == 0 ? #"{"driver":\#(session % 3)}"# : nil
        let id = try workshop.insert(now, session: session, extras: extras)
        model.rows.append(Model.Row(id: id, seconds: now, session: session))
    }

    private mutating func freeze() throws {
        guard let draft = try workshop.store.draftBatch(limit: Int.random(in: 1...8, using: &random)) else {
            try #require(model.frozen != nil || model.counts.pending == 0)
            return
        }
        try #require(model.frozen == nil)
        let pending = model.rows.filter { !$0.isUploaded && !$0.isRejected }
        let oldest = try #require(pending.map(\.session).min())
        try #require(draft.session == uuid(oldest))
        let first = try #require(pending.filter { $0.session == oldest }.map(\.seconds).min())
        try #require(draft.locations.first?.fix.time == time(first))
        // Sometimes a fix, or a deletion, comes between the two.
        var isTouched = false
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try insert()
        case 1:
            let before = Set(model.rows.map(\.id))
            try delete()
            isTouched = !before.subtracting(model.rows.map(\.id)).isDisjoint(with: draft.locations.map(\.id))
        default: break
        }
        let batch = try workshop.freeze(draft)
        try #require((batch == nil) == isTouched)
        guard let batch else { return }
        try #require(model.bytes[batch.id] == nil)
        model.bytes[batch.id] = batch.body
        model.frozen = (batch, Set(draft.locations.map(\.id)))
    }

    private mutating func acknowledge() throws {
        guard let (batch, ids) = model.frozen else { return }
        try #require(try workshop.store.acknowledge(batch) == ids.count)
        model.frozen = nil
        model.rejectionsInARow = 0
        if workshop.options.keepsUploaded {
            for index in model.rows.indices where ids.contains(model.rows[index].id) {
                model.rows[index].isUploaded = true
            }
        } else {
            model.rows.removeAll { ids.contains($0.id) }
        }
    }

    private mutating func reject() throws {
        guard let (batch, ids) = model.frozen else { return }
        model.rejectionsInARow += 1
        let verdict = try workshop.store.reject(batch, status: 400, at: time(now))
        guard model.rejectionsInARow < 3 else {
            try #require(verdict == .suspected)
            return
        }
        try #require(verdict == .deadLettered(ids.count))
        model.frozen = nil
        for index in model.rows.indices where ids.contains(model.rows[index].id) {
            model.rows[index].isRejected = true
        }
    }

    private mutating func moveDeadLetters() throws {
        let act: RejectedWork.Act = Int.random(in: 0..<3, using: &random) == 0 ? .purge : .requeue
        var work = try workshop.store.begin(act)
        while !work.isFinished { try workshop.store.proceed(with: &work) }
        try #require(work.done == model.counts.rejected)
        if act == .purge { model.rows.removeAll(where: \.isRejected) }
        for index in model.rows.indices { model.rows[index].isRejected = false }
    }

    private mutating func delete() throws {
        let isAll = Int.random(in: 0..<8, using: &random) == 0
        let cutoff = isAll ? nil : now - Double(Int.random(in: 0...150, using: &random))
        let doomed = Set(model.rows.filter { $0.seconds <= cutoff ?? .infinity }.map(\.id))
        let deletion = try workshop.delete(before: cutoff)
        try #require(deletion.removed == doomed.count)
        model.rows.removeAll { doomed.contains($0.id) }
        guard let (batch, ids) = model.frozen else { return }
        if try workshop.store.nextFrozen() == nil {
            try #require(deletion.dissolved == [batch.id])
            model.frozen = nil
        } else {
            try #require(deletion.dissolved == [] && ids.isDisjoint(with: doomed))
        }
    }

    /// The store, the database and the model agree.
    func check() throws {
        if workshop.store.counts() != model.counts { _ = try workshop.store.nextFrozen() }
        try #require(workshop.store.counts() == model.counts)
        let counted = try workshop.query(
            """
            SELECT COUNT(*) || ' ' || COUNT(*) FILTER (WHERE uploaded = 0) || ' ' || (SELECT COUNT(*) FROM rejected) \
            FROM locations
            """)
        let counts = model.counts
        try #require(counted == "\(counts.locations) \(counts.pending) \(counts.rejected)")
        try #require(try workshop.store.nextFrozen() == model.frozen?.batch)
    }

    func checkRows() throws {
        let stored = try workshop.stored()
        try #require(stored.map(\.fix.time) == stored.map(\.fix.time).sorted())
        try #require(Set(stored.map(\.id)) == Set(model.rows.filter { !$0.isRejected }.map(\.id)))
        for location in stored {
            let row = try #require(model.rows.first { $0.id == location.id })
            try #require(location.session == uuid(row.session) && location.fix.time == time(row.seconds))
        }
        try #require(try workshop.count("locations") == Set(stored.map(\.id)).count)
    }
}

@Test(
    "whatever is done in whatever order, the store holds what the lists say",
    arguments: 1...6 as ClosedRange<UInt64>)
func randomOperations(seed: UInt64) throws {
    var run = try Run(seed: seed)
    for step in 0..<600 {
        do {
            try run.step()
            try run.check()
            if step % 20 == 0 { try run.checkRows() }
        } catch {
            Issue.record(error, "seed \(seed), step \(step)")
            return
        }
    }
    #expect(!run.model.bytes.isEmpty)
}
