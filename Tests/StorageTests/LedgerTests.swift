import Base
import SQLite
import Testing

@testable import Storage

private func key(_ ts: Int64, _ seq: Int64? = nil) -> RowKey { RowKey(ts: ts, seq: seq ?? ts) }

private func members(_ first: Int64, _ last: Int64, session: Int64 = 1, count: Int? = nil) -> BatchMembers {
    BatchMembers(
        session: session, extras: 0, first: key(first), last: key(last), maxSeq: 100, minSeq: 0,
        count: count ?? Int(last - first) + 1, events: 0)
}

private func batch(_ members: BatchMembers, key: Int64 = 1, isPiece: Bool = false) -> FrozenBatch {
    FrozenBatch(
        id: uuid(9), session: uuid(1), locations: members.count, events: members.events, body: [],
        isPiece: isPiece, key: key, members: members)
}

private func frozen(_ batch: FrozenBatch, isPermanent: Bool = false) -> Ledger.Frozen {
    Ledger.Frozen(key: batch.key, members: batch.members, isPermanent: isPermanent)
}

@Suite("the ledger")
struct LedgerTests {
    /// A change of a tally that has rows 1…4 pending in session 1 and two uploaded ones.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var rows = 6
        var uploaded = 2
        var rejected = 0
        var pending: [Int64: Int] = [1: 4]
        var change: @Sendable (inout Tally) -> Void

        static let all = [
            Change(testDescription: "nothing") { _ in },
            Change(testDescription: "a row comes in", rows: 7, pending: [1: 4, 2: 1]) {
                $0.add(key(9), session: 2)
            },
            Change(testDescription: "a batch is accepted and deleted", rows: 3, pending: [1: 1]) {
                $0.acknowledge(3, session: 1, areKept: false)
            },
            Change(testDescription: "a batch is accepted and kept", uploaded: 6, pending: [:]) {
                $0.acknowledge(4, session: 1, areKept: true)
            },
            Change(testDescription: "a batch is refused", rows: 4, rejected: 2, pending: [1: 2]) {
                $0.reject(2, session: 1)
            },
            Change(testDescription: "dead letters leave", rejected: -2) { $0.remove(rejected: 2) },
            Change(testDescription: "kept rows are about to be pending", rows: 4, uploaded: 0) {
                $0.remove(uploaded: 2)
            },
            Change(testDescription: "more leave than there were", rows: 1, pending: [:]) {
                $0.acknowledge(5, session: 1, areKept: false)
            },
            Change(testDescription: "rows are pruned", rows: 4, uploaded: 1, pending: [1: 3]) {
                _ = $0.remove([
                    RetainedRow(key: key(2), session: 1, isUploaded: false),
                    RetainedRow(key: key(7), session: 1, isUploaded: true),
                ])
            },
        ]
    }

    @Test("counts follow each change", arguments: Change.all)
    func tally(change: Change) {
        var tally = Tally(uploaded: 2, pending: [1: 4], oldestPending: key(1), nextSeq: 7)
        change.change(&tally)
        #expect(tally.rows == change.rows)
        #expect(tally.uploaded == change.uploaded)
        #expect(tally.rejected == change.rejected)
        #expect(tally.pending == change.pending)
        #expect(tally.nextSeq == 7)
    }

    @Test(
        "the oldest pending row is looked for only when it has gone",
        arguments: [(1, false, true), (2, false, false), (1, true, false)] as [(Int64, Bool, Bool)])
    func oldest(ts: Int64, isUploaded: Bool, expected: Bool) {
        var tally = Tally(uploaded: 2, pending: [1: 4], oldestPending: key(1), nextSeq: 7)
        #expect(tally.remove([RetainedRow(key: key(ts), session: 1, isUploaded: isUploaded)]) == expected)
    }

    @Test(
        "sequence numbers never run backwards, and a damaged file cannot exhaust them",
        arguments: [(0, 7), (6, 7), (7, 8), (.max, (1 << 62) + 1), (.min, 7)] as [(Int64, Int64)])
    func numbers(found: Int64, next: Int64) {
        var tally = Tally(uploaded: 0, pending: [:], oldestPending: nil, nextSeq: 7)
        tally.reset(
            to: [SessionCount(session: 1, rows: 3, uploaded: 1, lastSeq: found)], rejected: 5, lastSeq: found)
        #expect(tally.nextSeq == next)
        #expect((tally.rows, tally.uploaded, tally.rejected) == (3, 1, 5))
        #expect(tally.pending == [1: 2])
    }

    @Test("rows that come back get numbers below all others, and are the first to be sent")
    func returned() {
        var ledger = Ledger()
        ledger.locations = Tally(uploaded: 0, pending: [1: 1], oldestPending: key(50), nextSeq: 51)
        ledger.queue.prunableFrom = key(50)
        ledger.returned([(ts: 20, session: 1), (ts: 10, session: 2)])
        #expect(ledger.lowestSeq == -2)
        #expect(ledger.locations.oldestPending == key(10, -2))
        #expect(ledger.queue.prunableFrom == key(10, -2))
        #expect(ledger.sessionsLeft(after: nil) == [1, 2])
        #expect(ledger.numbers.next == 51)
    }

    @Test("numbers of a database that was lost are not given again")
    func covered() {
        var other = Ledger()
        other.locations.pass(40)
        other.events.pass(4)
        other.returned([(ts: 1, session: 1)])
        var ledger = Ledger()
        ledger.cover(other.numbers)
        ledger.cover(Ledger.Numbers())
        #expect((ledger.locations.nextSeq, ledger.events.nextSeq, ledger.lowestSeq) == (41, 5, -1))
        ledger.cover(Ledger.Numbers(past: Deletion.Bounds(cutoff: nil, maxSeq: 60, maxEventSeq: .min)))
        #expect((ledger.locations.nextSeq, ledger.events.nextSeq) == (61, 5))
    }

    @Test("kept rows of an accepted batch are where the search for uploaded ones begins")
    func accepted() {
        let sent = batch(members(3, 5))
        var ledger = Ledger()
        ledger.locations = Tally(uploaded: 1, pending: [1: 3], oldestPending: key(3), nextSeq: 6)
        ledger.uploadedFrom = key(8)
        ledger.queue.append(frozen(sent))
        ledger.acknowledged(sent, locations: 3, areKept: true)
        #expect(ledger.queue.frozen.isEmpty)
        #expect(ledger.uploadedFrom == key(3))
        #expect((ledger.locations.rows, ledger.locations.uploaded) == (4, 4))
    }
}

@Suite("the queue of batches")
struct BatchQueueTests {
    @Test("what comes behind a batch is known only while it is whole and alone")
    func alone() {
        let (one, other) = (batch(members(1, 2)), batch(members(3, 4), key: 2))
        var queue = BatchQueue()
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
        var queue = BatchQueue()
        let draft = BatchDraft(
            session: uuid(1), extras: nil, locations: [], events: [], members: members(1, 2), eventKeys: [])
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
        var ledger = Ledger()
        ledger.locations = Tally(uploaded: 0, pending: [1: 4], oldestPending: key(1), nextSeq: 5)
        ledger.queue.drafted(members(1, 4), changes: 0, isGapless: true)
        ledger.queue.added(key(ts))
        let start = ledger.pendingFrom(session: 1, after: members(1, 4))
        #expect(start == (expected ? key(4).next : key(1)))
        #expect(ledger.pendingFrom(session: 2, after: members(1, 4)) == key(1))
    }

    @Test("the search for rows to prune begins anew whenever what is reserved changes")
    func prunable() {
        let one = batch(members(1, 2))
        let changes: [(inout BatchQueue) -> Void] = [
            { $0.append(frozen(one)) }, { $0.remove(one) }, { $0.remove(where: \.isPermanent) },
            { $0.drafted(members(5, 6), changes: 0, isGapless: false) }, { $0.dropDraft() },
        ]
        var queue = BatchQueue()
        queue.drafted(members(3, 4), changes: 0, isGapless: false)
        for change in changes {
            queue.prunableFrom = key(30)
            change(&queue)
            #expect(queue.prunableFrom == .first)
        }
        queue.prunableFrom = key(30)
        queue.dropDraft()
        queue.added(key(40))
        #expect(queue.prunableFrom == key(30))
    }

    @Test("a permanent refusal is noted of the batch that was refused, and of no other")
    func permanent() {
        var queue = BatchQueue()
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
    #expect(try Set(Schema.tables(naming: "uploaded", in: db)) == Set(RecordKind.all.map(\.table)))
    #expect(try Set(Schema.tables(naming: "rejected_at", in: db)) == Set(RecordKind.all.map(\.rejected)))
    for (_, name, key) in RecordKind.tables {
        for column in [key, "seq", "ts", "session", "extras"] {
            #expect(try Schema.tables(naming: column, in: db).contains(name), "\(name).\(column)")
        }
    }
}
