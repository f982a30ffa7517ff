import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("batches that do not get through, and those that go again")
struct OversizedTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop(StoreOptions(keepsUploaded: true, destinations: .main))
        try workshop.store.adopt(endpoint: 1)
    }

    private func resend(_ from: Double, _ to: Double? = nil) throws -> Int {
        var work = Resend(from: time(from), to: to.map(time))
        while !work.isFinished { try store.proceed(with: &work) }
        return work.done
    }

    @Test(
        "a permanent answer is not the latest any more once another attempt has begun",
        arguments: [false, true])
    func latest(isReopened: Bool) throws {
        _ = try workshop.insert(1...5)
        let batch = try workshop.freeze(limit: 3)
        try store.markPermanent(batch)
        if isReopened { try workshop.reopen() }
        #expect(try store.beginAttempt(batch))
        if isReopened { try workshop.reopen() }
        try store.adopt(endpoint: 2)
        #expect(try store.nextFrozen() == batch, "what became of that attempt nobody knows")
        try store.markPermanent(batch)
        try store.adopt(endpoint: 3)
        #expect(try store.nextFrozen() == nil)
    }

    @Test("an attempt at a batch without a mark writes nothing")
    func writesNothing() throws {
        _ = try workshop.insert(1...5)
        let batch = try workshop.freeze(limit: 3)
        let before = try workshop.directory.read("beekon.db-wal").count
        #expect(try store.beginAttempt(batch))
        try store.forgetOversized(batch)
        #expect(try workshop.directory.read("beekon.db-wal").count == before)
    }

    @Test("a batch that a deletion has dissolved is not tried again")
    func dissolvedMeanwhile() throws {
        _ = try workshop.insert(1...4)
        let batch = try workshop.freeze()
        #expect(try store.beginAttempt(batch))
        _ = try workshop.delete(before: 2)
        #expect(try !store.beginAttempt(batch))
        #expect(try store.beginAttempt(try workshop.freeze()))
    }

    @Test("only after three failures in a row may a batch be dissolved, over restarts")
    func threeInARow() throws {
        let ids = try workshop.insert(1...5)
        #expect(try store.rebatch() == .nothingFrozen)
        let batch = try workshop.freeze(limit: 4)
        #expect(try store.countOversized(batch, isPermanent: false) == 1)
        #expect(try store.countOversized(batch, isPermanent: true) == 2)
        try store.forgetOversized(batch)
        for count in 1...3 {
            #expect(try store.rebatch() == .tooFew(failures: count - 1))
            #expect(try store.countOversized(batch, isPermanent: false) == count)
            try workshop.reopen()
        }
        #expect(try store.rebatch() == .dissolved(id: batch.id, locations: 4, events: 0))
        #expect(try store.rebatch() == .nothingFrozen)
        let next = try workshop.freeze(limit: 2)
        #expect(next.ids == Array(ids[..<2]) && next.id != batch.id)
        #expect(try store.rebatch() == .tooFew(failures: 0), "another batch begins anew")
        try workshop.reopen()
        #expect(try store.nextFrozen() == next)
    }

    @Test("kept rows are pending again under their ids, and join no batch that is frozen or drafted")
    func resent() throws {
        let ids = try workshop.insert(1...9)
        #expect(try store.acknowledge(try workshop.freeze(limit: 6)) == 6)
        let frozen = try workshop.freeze(limit: 3)
        #expect(try resend(2, 4) == 3)
        #expect(store.counts().pending == 6 && store.counts().locations == 9)
        #expect(try resend(2, 4) == 0, "they are pending")
        for _ in 0..<2 {
            #expect(try store.nextFrozen() == frozen)
            try workshop.reopen()
        }
        #expect(try store.acknowledge(frozen) == 3)
        #expect(store.counts().pending == 3 && store.counts().oldestPending == time(2))
        #expect(try workshop.freeze().ids == Array(ids[1...3]))
        #expect(try workshop.stored().map(\.id) == ids)
    }

    @Test("a row that comes back among those of a frozen batch is not acknowledged with it")
    func among() throws {
        // Late rows, acknowledged first, lie between those of the batch.
        let late = try workshop.insert(5)
        #expect(try store.acknowledge(try workshop.freeze()) == 1)
        _ = try workshop.insert(1...4)
        _ = try workshop.insert(6...9)
        let draft = try #require(try store.draftBatch(limit: 10))
        #expect(try resend(5, 5) == 1)
        let frozen = try #require(try workshop.freeze(draft))
        #expect(try store.acknowledge(frozen) == 8)
        #expect(store.counts().pending == 1)
        let next = try #require(try store.draftBatch(limit: 10))
        #expect(next.locations.map(\.id) == [late])
        #expect(try resend(0) == 8)
        #expect(store.counts().pending == 9)
    }

    @Test("thousands of rows go in steps, and one that is acknowledged meanwhile is not taken again")
    func steps() throws {
        _ = try workshop.insert(1...2500)
        while let draft = try store.draftBatch(limit: 1000), let batch = try workshop.freeze(draft) {
            _ = try store.acknowledge(batch)
        }
        var work = Resend(from: time(0), to: nil)
        try store.proceed(with: &work)
        #expect(work.done == 1000 && store.counts().pending == 1000)
        #expect(try store.acknowledge(try workshop.freeze(limit: 700)) == 700)
        // Cut off here, the rest is where it was.
        try workshop.reopen()
        #expect(store.counts().pending == 300 && store.counts().locations == 2500)
        while !work.isFinished { try store.proceed(with: &work) }
        #expect(work.done == 2500 && store.counts().pending == 1800)
        #expect(try workshop.query("SELECT COUNT(DISTINCT id) FROM locations") == "2500")
    }

    @Test("the newest row of a session keeps its number from being given again")
    func numbers() throws {
        _ = try workshop.insert(1...3)
        #expect(try store.acknowledge(try workshop.freeze()) == 3)
        #expect(try resend(0) == 3)
        let left = try Workshop(workshop.options, in: try copy())
        _ = try left.insert(4)
        #expect(try left.query("SELECT MAX(seq) FROM locations") == "4")
        #expect(try left.stored().count == 4)
    }

    /// What a kill would leave behind.
    private func copy() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        for name in ["beekon.db", "beekon.db-wal"] { try copy.write(name, try workshop.directory.read(name)) }
        return copy
    }
}
