import Base
import Testing
import Tracking

@testable import Storage

private let day = 86_400.0

/// Rows that go for their age although somebody still has to receive them.
@Suite("store.unsent_days") struct UnsentRetentionTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(
            StoreOptions(retention: 30 * day, destinations: .main, unsentRetention: 7 * day))
    }

    @Test("a row goes when it is older, and not at that age; it is counted", arguments: [true, false])
    func exact(isSyncing: Bool) throws {
        if !isSyncing { workshop.options.destinations = [] }
        _ = try workshop.insert(1...3)
        try workshop.insert(7 * day + 2, prunesByAge: true)
        #expect(try workshop.seconds == [2, 3, 7 * day + 2])
        try workshop.insert(7 * day + 2.001, prunesByAge: true)
        try workshop.store.checkLedger()
        #expect(try workshop.seconds == [3, 7 * day + 2, 7 * day + 2.001])
        #expect(workshop.store.takeLosses() == Losses(pruned: 2))
        try workshop.reopen()
        #expect(workshop.store.counts().losses == Losses(pruned: 2))
        #expect(workshop.pending(.main) == 3)
    }

    @Test("none goes by a time that is not trusted, nor while the settings are lost, nor without the setting")
    func spared() throws {
        _ = try workshop.insert(1...3)
        try workshop.insert(9 * day)
        workshop.options.holdsRows = true
        try workshop.insert(9 * day + 1, prunesByAge: true)
        workshop.options.holdsRows = false
        workshop.options.unsentRetention = nil
        try workshop.insert(9 * day + 2, prunesByAge: true)
        #expect(try workshop.seconds.count == 6)
        workshop.options.unsentRetention = 7 * day
        try workshop.insert(9 * day + 3, prunesByAge: true)
        #expect(try workshop.seconds == [0, 1, 2, 3].map { 9 * day + $0 })
    }

    @Test("members of a frozen batch and of a draft stay; what was kept after its upload does not count")
    func batches() throws {
        workshop.options.keepsUploaded = true
        _ = try workshop.insert(1...2)
        _ = try workshop.store.acknowledge(try workshop.freeze())
        _ = try workshop.insert(3...20)
        let batch = try workshop.freeze(limit: 3)
        let draft = try #require(try workshop.store.draftBatch(limit: 2, after: batch))
        for round in 0..<2 { try workshop.insert(8 * day + Double(round), prunesByAge: true) }
        try workshop.store.checkLedger()
        #expect(try workshop.seconds == [1, 2, 3, 4, 5, 6, 7, 8 * day, 8 * day + 1])
        #expect(workshop.store.counts().losses == Losses(pruned: 13))
        #expect(
            try workshop.store.acknowledge(batch, freezing: draft, id: uuid(9), StoredRequest(body: [])) == 3)
        let next = try #require(try workshop.store.nextFrozen())
        #expect(next.rows == 2)
        try workshop.insert(8 * day + 2, prunesByAge: true)
        #expect(workshop.pending(.main) == 5)
        // Once they are in no batch any more, they go like others.
        try workshop.store.dissolve(next)
        try workshop.insert(8 * day + 3, prunesByAge: true)
        #expect(workshop.pending(.main) == 4 && workshop.store.counts().losses == Losses(pruned: 15))
    }

    @Test("a long backlog goes in steps, oldest first, also behind rows that are older and kept")
    func steps() throws {
        workshop.options.keepsUploaded = true
        _ = try workshop.insert(1...200)
        _ = try workshop.store.acknowledge(try workshop.freeze(limit: 100))
        for round in 0..<13 {
            try workshop.insert(8 * day + Double(round), prunesByAge: true)
            try workshop.store.checkLedger()
            #expect(
                try workshop.count("locations WHERE uploaded = 0") == max(100 - 8 * (round + 1), 0) + round
                    + 1)
        }
        #expect(try workshop.count("locations WHERE uploaded = 1") == 100)
        // Older than where the search has arrived.
        try workshop.insert(0.5)
        try workshop.insert(8 * day + 20, prunesByAge: true)
        #expect(try workshop.stored().first?.fix.time == time(1))
    }

    @Test("events go as well")
    func events() throws {
        for second in 1...20 { try workshop.insertEvent(Double(second)) }
        let batch = try workshop.freezeAll(try #require(try workshop.store.draftBatch(limit: 2)))
        for round in 0..<2 { try workshop.insert(8 * day + Double(round), prunesByAge: true) }
        try workshop.store.checkLedger()
        #expect(try workshop.events().count == 2 && workshop.store.counts().losses == Losses(pruned: 18))
        #expect(try workshop.store.acknowledge(try #require(batch)) == 2)
    }

    @Test("each destination that was owed a row counts it, and no other; what nobody is owed goes, too")
    func destinations() throws {
        workshop.options.destinations = .named(.main, .fleet)
        _ = try workshop.insert(1...4)
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 3))
        _ = try workshop.store.acknowledge(batch)
        try workshop.configure(.main)
        try workshop.insert(8 * day, prunesByAge: true)
        try workshop.store.checkLedger()
        let counts = workshop.store.counts()
        #expect(counts.losses == Losses(pruned: 4) && counts.main.losses == Losses(pruned: 4))
        #expect(counts[.fleet]?.losses == Losses(pruned: 1))
        #expect(try workshop.seconds == [8 * day])
    }

    @Test("what comes back to the queue is old at once")
    func requeued() throws {
        _ = try workshop.insert(1...2)
        #expect(try workshop.reject(.main) == .deadLettered(2))
        try workshop.insert(8 * day, prunesByAge: true)
        #expect(try workshop.requeue(.main) == 2)
        try workshop.insert(8 * day + 1, prunesByAge: true)
        #expect(try workshop.seconds == [8 * day, 8 * day + 1])
        #expect(workshop.store.counts().losses == Losses(pruned: 2))
    }
}
