import Base
import SQLite
import Support
import Testing

@testable import Storage

/// A damaged database whose rows all read: each destination goes on as if nothing had happened.
@Suite("what a salvage keeps of each destination")
struct SalvagedDestinationTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(StoreOptions(destinations: .named(.main, .fleet)))
    }

    private func damage(_ sql: String = "") throws {
        workshop.store.close()
        let db = try Connection(path: workshop.directory.file("beekon.db"), access: .damaged)
        try db.execute("PRAGMA query_only = OFF; CREATE TABLE alien (a);" + sql)
        try workshop.reopen()
        #expect(!workshop.store.takeEvents().isEmpty, "it was moved aside")
        try workshop.store.checkLedger()
    }

    @Test("a frozen batch of any format stays frozen at the next start", arguments: [0, 77] as [Int64])
    func format(format: Int64) throws {
        for name in [DestinationName.main, .fleet] {
            try workshop.store.adopt(endpoint: 5, format: format, of: name)
        }
        _ = try workshop.insert(1...3)
        let main = try #require(try workshop.freezeNext(for: .main))
        let fleet = try #require(try workshop.freezeNext(for: .fleet))
        try damage()
        for (name, batch) in [(DestinationName.main, main), (.fleet, fleet)] {
            #expect(try workshop.store.adopt(endpoint: 5, format: format, of: name) == 0, "\(name)")
            let next = try #require(try workshop.store.nextFrozen(for: name), "\(name)")
            #expect(next.id == batch.id && next.request == batch.request)
        }
        #expect(try workshop.store.adopt(endpoint: 5, format: 78, of: .fleet) == 1)
    }

    @Test("what a destination was never owed can still be owed to it, and nothing else", arguments: [1, 2])
    func offered(damages: Int) throws {
        let before = try workshop.insert(1...3)
        let first = try workshop.insertEvent(4)
        _ = try workshop.drain(.main)
        try workshop.configure(.main, .fleet, .home)
        let after = try workshop.insert(5...7)
        _ = try workshop.insertEvent(8)
        let batch = try #require(try workshop.freezeNext(for: .home, limit: 2))
        #expect(try workshop.store.acknowledge(batch) == 3, "two locations and an event")
        for _ in 0..<damages { try damage() }
        #expect(workshop.pending(.home) == 1)
        #expect(try workshop.backfill(.home) == 4)
        try workshop.store.checkLedger()
        #expect(try workshop.backfill(.main) == 0)
        #expect(try Set(workshop.drain(.home)) == Set(before + [first, after[2]]))
        #expect(try workshop.backfill(.home) == 0)
    }

    @Test("a destination that was added since was never owed what was salvaged")
    func addedSince() throws {
        let ids = try workshop.insert(1...3)
        workshop.store.close()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            "CREATE TABLE alien (a)")
        var options = workshop.options
        options.destinations = .named(.main, .fleet, .home)
        workshop.store = try Store(directory: workshop.directory.path, options: options)
        #expect(workshop.pending(.home) == 0 && workshop.pending(.fleet) == 3)
        #expect(try workshop.backfill(.home) == 3)
        #expect(try workshop.drain(.home) == ids)
    }

    @Test("an orphan is one since when it was", arguments: [DestinationName.fleet, .main])
    func orphanedAt(name: DestinationName) throws {
        let other: DestinationName = name == .main ? .fleet : .main
        for name in [name, other] { try workshop.store.adopt(endpoint: 5, of: name) }
        try workshop.insert(1)
        try workshop.configure(other)
        try workshop.insert(10, prunesByAge: true)
        try damage()
        #expect(workshop.store.counts()[name]?.isOrphaned == true)
        try workshop.insert(20)
        #expect(workshop.pending(name) == 3, "it is owed what is stored meanwhile")
        // Its seven days are over, counted from then on.
        try workshop.insert(7 * 86_400 + 11, prunesByAge: true)
        #expect(workshop.pending(name) == 3)
        #expect(workshop.pending(other) == 4)
    }

    @Test("an orphan with nothing but dead letters is owed them again")
    func letters() throws {
        let ids = try workshop.insert(1...2)
        #expect(try workshop.reject(.fleet) == .deadLettered(2))
        _ = try workshop.drain(.main)
        try workshop.configure(.main)
        workshop.store.close()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            "DELETE FROM debts WHERE destination = 'fleet'")
        try workshop.reopen()
        try damage()
        #expect(workshop.pending(.fleet) == 2 && workshop.pending(.main) == 0)
        try workshop.configure(.main, .fleet)
        #expect(try workshop.drain(.fleet) == ids)
    }

    @Test("losses stay counted by name, once")
    func losses() throws {
        workshop.options.maxRows = 3
        _ = try workshop.insert(1...5)
        let expected = Losses(dropped: 2)
        for _ in 0..<2 {
            #expect(workshop.store.counts()[.fleet]?.losses == expected)
            #expect(workshop.store.counts().losses == expected)
            try damage()
        }
        #expect(workshop.store.counts()[.fleet]?.losses == expected)
    }

    @Test("a suspicion goes on; rejections before one begin anew, because their rows are pending again")
    func suspicion() throws {
        for row in 1...4 { try workshop.insert(Double(row)) }
        for _ in 0..<2 { #expect(try workshop.reject(.main, limit: 1) == .deadLettered(1)) }
        for _ in 0..<2 { #expect(try workshop.reject(.fleet, limit: 1) == .deadLettered(1)) }
        #expect(try workshop.reject(.fleet, limit: 1) == .suspected)
        let probe = try #require(try workshop.store.nextFrozen(for: .fleet))
        try damage()
        #expect(try workshop.store.nextFrozen(for: .fleet)?.id == probe.id)
        #expect(try workshop.reject(.fleet, limit: 1) == .suspected)
        #expect(try workshop.reject(.main, limit: 1) == .deadLettered(1))
        #expect(try workshop.reject(.main, limit: 1) == .deadLettered(1))
    }

    @Test("refusals and failures because of size are counted on")
    func refusals() throws {
        _ = try workshop.insert(1...3)
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 1))
        var refusals = Refusals()
        (refusals.batch, refusals.count, refusals.silentCloses) = (batch.id, 2, 9)
        try workshop.store.set(refusals, by: .fleet)
        for _ in 0..<2 { _ = try workshop.store.countOversized(batch, isPermanent: true) }
        try damage()
        #expect(try workshop.store.refusals(by: .fleet) == refusals)
        #expect(try workshop.store.refusals(by: .main) == Refusals())
        let again = try #require(try workshop.store.nextFrozen(for: .fleet))
        #expect(try workshop.store.countOversized(again, isPermanent: true) == 3)
        try workshop.store.adopt(endpoint: 6, of: .fleet)
        #expect(try workshop.store.nextFrozen(for: .fleet) == nil, "its latest answer was permanent")
    }
}
