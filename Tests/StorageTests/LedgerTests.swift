import Base
import SQLite
import Testing

@testable import Storage

private func key(_ ts: Int64, _ seq: Int64? = nil) -> RowKey { RowKey(ts: ts, seq: seq ?? ts) }

private func members(_ first: Int64, _ last: Int64, session: Int64 = 1) -> BatchMembers {
    BatchMembers(session: session, extras: 0, runs: [RowRun(first: key(first), last: key(last))])
}

private func batch(_ members: BatchMembers, key: Int64 = 1, isPiece: Bool = false) -> FrozenBatch {
    FrozenBatch(
        destination: .main, id: uuid(9), session: uuid(1), request: StoredRequest(body: []), isPiece: isPiece,
        key: key, members: members)
}

private let other = DestinationName("other") ?? .main
private let unknown = DestinationName("unknown") ?? .main

private func frozen(_ batch: FrozenBatch, isPermanent: Bool = false) -> Ledger.Frozen {
    Ledger.Frozen(key: batch.key, members: batch.members, isPermanent: isPermanent)
}

private func row(_ ts: Int64, isUploaded: Bool = false) -> RetainedRow {
    RetainedRow(key: key(ts), session: 1, isUploaded: isUploaded)
}

/// With rows 1…4 pending for `main` in session 1, and two uploaded ones.
private func ledger() -> Ledger {
    var ledger = Ledger()
    ledger.locations = Tally(rows: 6, uploaded: 2, nextSeq: 7)
    ledger[.main].locations = Pending(bySession: [1: 4], oldest: key(1))
    return ledger
}

@Suite("the ledger")
struct LedgerTests {
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var rows = 6
        var uploaded = 2
        var pending: [Int64: Int] = [1: 4]
        var change: @Sendable (inout Ledger) -> Void

        static func paid(_ first: Int64, _ last: Int64, areKept: Bool) -> @Sendable (inout Ledger) -> Void {
            { ledger in
                let count = Int(last - first) + 1
                var payment = Payment(locations: count, owed: .everything)
                let settled = Payment.Count(locations: count)
                if areKept { payment.kept = settled } else { payment.settled = settled }
                ledger.paid(batch(members(first, last)), payment)
            }
        }

        static let all = [
            Change(testDescription: "nothing") { _ in },
            Change(
                testDescription: "a batch leaves", rows: 3, pending: [1: 1],
                change: paid(1, 3, areKept: false)),
            Change(
                testDescription: "a batch is kept", uploaded: 6, pending: [:],
                change: paid(1, 4, areKept: true)),
            Change(testDescription: "a batch leaves that others are owed", pending: [1: 2]) {
                $0.paid(batch(members(1, 2)), Payment(locations: 2, owed: .everything))
            },
            Change(
                testDescription: "more leave than there were", rows: 1, pending: [:],
                change: paid(1, 5, areKept: false)),
            Change(testDescription: "kept rows are pending", uploaded: 0, pending: [1: 4, 2: 1]) {
                $0.locations.returned(2)
                $0.owe(key(5), session: 2, to: .main)
            },
            Change(testDescription: "rows are pruned", rows: 4, uploaded: 1, pending: [1: 3]) {
                let rows = [row(2), row(7, isUploaded: true)]
                $0.locations.removed(rows)
                _ = $0[.main].removed(rows)
            },
        ]
    }

    @Test("counts follow each change", arguments: Change.all)
    func counts(change: Change) {
        var ledger = ledger()
        change.change(&ledger)
        #expect(ledger.locations.rows == change.rows)
        #expect(ledger.locations.uploaded == change.uploaded)
        #expect(ledger[.main].locations.bySession == change.pending)
        #expect(ledger[.main].locations.count == change.pending.values.reduce(0, +))
        #expect(ledger.locations.nextSeq == 7)
    }

    @Test(
        "the oldest pending row is looked for only when it has gone",
        arguments: [(1, false, true), (2, false, false), (1, true, false)] as [(Int64, Bool, Bool)])
    func oldest(ts: Int64, isUploaded: Bool, expected: Bool) {
        var ledger = ledger()
        #expect(ledger[.main].removed([row(ts, isUploaded: isUploaded)]) == expected)
    }

    @Test(
        "sequence numbers never run backwards, and a damaged file cannot exhaust them",
        arguments: [(0, 7), (6, 7), (7, 8), (.max, (1 << 62) + 1), (.min, 7)] as [(Int64, Int64)])
    func numbers(found: Int64, next: Int64) {
        var tally = Tally(rows: 0, uploaded: 0, nextSeq: 7)
        tally.reset(to: [SessionCount(session: 1, rows: 3, uploaded: 1, lastSeq: found)], lastSeq: found)
        #expect(tally.nextSeq == next)
        #expect((tally.rows, tally.uploaded) == (3, 1))
    }

    @Test("a row that comes back is pending for those alone who are owed it")
    func returned() {
        var ledger = ledger()
        var late = Backlog(name: other, owed: Backlog.Owed(locations: .from(5)))
        ledger.replace(backlogs: ledger.backlogs + [late])
        ledger.prunableFrom = key(50)
        ledger.owe(key(3), session: 2, to: .main)
        late.added(key(3), session: 2)
        #expect(ledger[.main].sessionsLeft(after: nil) == [1, 2])
        #expect(ledger[other].pending == 0 && late.pending == 0)
        #expect(ledger.prunableFrom == key(3))
        #expect(ledger.numbers.next == 7)
        #expect(ledger[unknown] == Backlog(name: unknown))
    }

    @Test("numbers of a database that was lost are not given again")
    func covered() {
        var other = Ledger()
        other.locations.pass(40)
        other.events.pass(4)
        var ledger = Ledger()
        ledger.cover(other.numbers)
        ledger.cover(Ledger.Numbers())
        #expect((ledger.locations.nextSeq, ledger.events.nextSeq) == (41, 5))
        ledger.cover(Ledger.Numbers(past: Deletion.Bounds(cutoff: nil, maxSeq: 60, maxEventSeq: .min)))
        #expect((ledger.locations.nextSeq, ledger.events.nextSeq) == (61, 5))
    }

    @Test("kept rows of an accepted batch are where the search for uploaded ones begins")
    func accepted() {
        let sent = batch(members(3, 5))
        var ledger = ledger()
        ledger.uploadedFrom = key(8)
        ledger[.main].queue.append(frozen(sent))
        ledger.paid(sent, Payment(locations: 3, kept: .init(locations: 3), owed: .everything))
        #expect(ledger[.main].queue.frozen.isEmpty)
        #expect(ledger.uploadedFrom == key(3))
    }

    @Test("losses are counted once, and once for each that was owed the row")
    func losses() {
        var ledger = ledger()
        let rows = [row(1), row(2), row(7, isUploaded: true)]
        #expect(ledger.losses(of: rows, \.locations) == LossAccount(all: Losses(dropped: 2)))
        ledger.replace(
            backlogs: ledger.backlogs + [Backlog(name: other, owed: Backlog.Owed(locations: .from(2)))])
        let lost = ledger.losses(of: rows, \.locations)
        #expect(lost.all == Losses(dropped: 2))
        #expect(lost.byName == [.main: Losses(dropped: 2), other: Losses(dropped: 1)])
    }
}

@Suite("the queue of batches")
struct BatchQueueTests {
    @Test("what comes behind a batch is known only while it is whole and alone")
    func alone() {
        let (one, other) = (batch(members(1, 2)), batch(members(3, 4), key: 2))
        var queue = FrozenBatches()
        #expect(!queue.isAlone(one))
        queue.append(frozen(one))
        #expect(queue.isAlone(one))
        #expect(!queue.isAlone(batch(members(1, 2), isPiece: true)))
        #expect(!queue.isAlone(batch(members(1, 3))), "the key may have been given again")
        queue.append(frozen(other))
        #expect(!queue.isAlone(one))
    }

    @Test("a draft is untouched until anything is written, or another is drafted")
    func untouched() {
        var queue = FrozenBatches()
        let draft = BatchDraft(
            destination: .main, session: uuid(1), extras: nil, locations: [], events: [], vehicleEvents: [],
            members: members(1, 2))
        #expect(!queue.isUntouched(draft, changes: 0))
        queue.drafted(draft.members, changes: 7, isGapless: true)
        #expect(queue.isUntouched(draft, changes: 7))
        #expect(!queue.isUntouched(draft, changes: 8))
        queue.drafted(members(1, 3), changes: 7, isGapless: true)
        #expect(!queue.isUntouched(draft, changes: 7))
        queue.dropDraft()
        #expect(queue.reserved.isEmpty)
    }

    @Test(
        "a row that comes in before the end of a draft is a gap in it",
        arguments: [(5, true), (4, false), (2, false)] as [(Int64, Bool)])
    func gapless(ts: Int64, expected: Bool) {
        var backlog = ledger()[.main]
        backlog.queue.drafted(members(1, 4), changes: 0, isGapless: true)
        backlog.queue.added(key(ts))
        let start = backlog.pendingFrom(session: 1, after: members(1, 4))
        #expect(start == (expected ? key(4).next : key(1)))
        #expect(backlog.pendingFrom(session: 2, after: members(1, 4)) == key(1))
    }

    @Test("the search for rows to prune begins anew whenever what is reserved changes")
    func prunable() {
        let one = batch(members(1, 2))
        let changes: [(inout FrozenBatches) -> Void] = [
            { $0.append(frozen(one)) }, { $0.remove(one) }, { $0.remove(where: \.isPermanent) },
            { $0.drafted(members(5, 6), changes: 0, isGapless: false) }, { $0.dropDraft() },
        ]
        var ledger = ledger()
        ledger[.main].queue.drafted(members(3, 4), changes: 0, isGapless: false)
        for change in changes {
            ledger.prunableFrom = key(30)
            ledger.unsentFrom = key(31)
            change(&ledger[.main].queue)
            #expect(ledger.prunableFrom == .first && ledger.unsentFrom == .first)
        }
        ledger.prunableFrom = key(30)
        ledger.unsentFrom = key(31)
        ledger[.main].queue.dropDraft()
        ledger.owe(key(40), session: 1, to: .main)
        #expect(ledger.prunableFrom == key(30) && ledger.unsentFrom == key(31))
        ledger.owe(key(20), session: 1, to: .main)
        #expect(ledger.prunableFrom == key(20) && ledger.unsentFrom == key(20))
    }

    @Test("a permanent refusal is noted of the batch that was refused, and of no other")
    func permanent() {
        var queue = FrozenBatches()
        let (one, other) = (batch(members(1, 2)), batch(members(3, 4), key: 2))
        queue.replace(with: [frozen(one), frozen(other)])
        queue.set(other, isPermanent: true)
        #expect(queue.frozen.map(\.isPermanent) == [false, true])
        queue.remove(where: \.isPermanent)
        #expect(queue.frozen == [frozen(one)])
    }
}

@Test(
    "a new version of extras, or session, never gets a key that is in use",
    arguments: [([], 1), ([3, 7], 8), ([-5], 1), ([.max], 1), ([1, 2, .max], 3)] as [([Int64], Int64)])
func freeKeys(used: [Int64], expected: Int64) {
    #expect(Bounded.key(besides: used) == expected)
}

@Test("extras are looked through once they are as many as may be unused")
func extrasLimit() {
    var extras = KnownExtras(["a": 1])
    for version in 2..<Int64(KnownExtras.unusedLimit) { extras.add("\(version)", version: version) }
    #expect(!extras.isFull)
    extras.add("b", version: extras.nextVersion)
    #expect(extras.isFull)
    extras.reset(to: ["a": 1, "b": 1000])
    #expect(!extras.isFull && extras.nextVersion == 1001 && extras.json(of: 1000) == "b")
    #expect(extras.json(of: 0) == nil)
}

@Test("every table that holds records is in the registry")
func recordKinds() throws {
    let db = try Connection(path: ":memory:", access: .readWrite)
    try Schema.migrate(db)
    #expect(try Set(Schema.tables(naming: "uploaded", in: db)) == Set(RecordKind.all.map(\.table.name)))
    #expect(try Set(Schema.tables(naming: "rejected_at", in: db)) == Set(RecordKind.all.map(\.rejected.name)))
    #expect(Set(RecordKind.all.map(\.code)).count == RecordKind.all.count)
    for table in RecordKind.all.flatMap({ [$0.table, $0.rejected] }) {
        for column in table.key.split(separator: ", ") + ["seq", "ts", "session", "extras"] {
            #expect(
                try Schema.tables(naming: String(column), in: db).contains(table.name), "\(table).\(column)")
        }
    }
}
