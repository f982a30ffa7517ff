import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// The next batch holds the newest pending rows; within it they ascend.
@Suite("newest first") struct OrderTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop()
    }

    private func draft(_ limit: Int, asOne: Bool = false) throws -> BatchDraft? {
        try workshop.store.draftBatch(limit: limit, asOne: asOne, order: .newest)
    }

    private func freeze(_ draft: BatchDraft?) throws -> FrozenBatch {
        let draft = try #require(draft)
        return try #require(try workshop.freezeAll(draft))
    }

    /// All batches, as the ids in each.
    private func drain(_ limit: Int) throws -> [[UUIDv7]] {
        var batches: [[UUIDv7]] = []
        while let draft = try draft(limit) {
            let batch = try freeze(draft)
            batches.append(batch.ids)
            _ = try workshop.store.acknowledge(batch)
            try workshop.store.checkLedger()
        }
        return batches
    }

    @Test("the newest go first, ascending within a batch, and nothing is left out")
    func order() throws {
        let ids = try workshop.insert(1...8)
        #expect(try drain(3) == [Array(ids[5..<8]), Array(ids[2..<5]), Array(ids[0..<2])])
        #expect(try workshop.count("locations") == 0)
    }

    @Test("a frozen batch goes first, whatever has come since")
    func frozen() throws {
        let old = try workshop.insert(1...3)
        let frozen = try freeze(draft(2))
        #expect(frozen.ids == Array(old[1...]))
        let new = try workshop.insert(4...6)
        #expect(try draft(2) == nil)
        try workshop.reopen()
        #expect(try workshop.store.nextFrozen()?.ids == frozen.ids)
        let sent = try #require(try workshop.store.nextFrozen())
        let next = try #require(try workshop.store.draftBatch(limit: 2, order: .newest, after: sent))
        #expect(next.locations.map(\.id) == Array(new[1...]))
        _ = try workshop.store.acknowledge(
            sent, freezing: next, id: uuid(5_000_001), StoredRequest(body: workshop.body(of: next)))
        try workshop.store.checkLedger()
        let last = try #require(try workshop.store.nextFrozen())
        _ = try workshop.store.acknowledge(last)
        #expect(try drain(10) == [[old[0], new[0]]])
    }

    @Test("sessions and extras, too: the newest of each")
    func sessions() throws {
        let first = try workshop.insert(1...2, session: 1)
        let second = try workshop.insert(3...4, session: 2)
        let third = try workshop.insert(5...6, session: 2, extras: #"{"driver":"B"}"#)
        #expect(try drain(10) == [third, second, first])
    }

    @Test("an event goes with the rows of its time, and alone where a request has one row")
    func events() throws {
        let ids = try workshop.insert(1...3)
        let event = try workshop.insertEvent(2.5)
        let one = try #require(try draft(1, asOne: true))
        #expect(one.locations.map(\.id) == [ids[2]] && one.events.isEmpty)
        _ = try workshop.store.acknowledge(freeze(one))
        let next = try #require(try draft(1, asOne: true))
        #expect(next.locations.isEmpty && next.events.map(\.id) == [event])
    }

    @Test("with kept rows, and rows that others are still owed, each gets what it is owed once")
    func others() throws {
        workshop.store.configure(
            StoreOptions(keepsUploaded: true, destinations: .named(.main, .home)))
        let ids = try workshop.insert(1...7)
        #expect(try drain(3) == [Array(ids[4..<7]), Array(ids[1..<4]), [ids[0]]])
        #expect(try workshop.drain(.home) == ids)
        let more = try workshop.insert(8...9)
        #expect(try drain(3) == [more])
    }

    /// The backlog of a week, of which each drain reads from its newer end.
    @Test("a long backlog is drained without reading all of it for each batch")
    func cost() throws {
        let ids = try workshop.insert(1...2000)
        let batches = try drain(100)
        #expect(batches.count == 20 && Set(batches.joined()) == Set(ids))
        #expect(batches.first == Array(ids[1900...]))
    }
}
