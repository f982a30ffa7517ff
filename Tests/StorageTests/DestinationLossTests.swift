import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// What is refused, dropped, pruned, or found again.
@Suite("several destinations, of which rows are lost")
struct DestinationLossTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(StoreOptions(destinations: .named(.main, .fleet)))
    }

    private func losses(_ name: DestinationName) -> Losses? { workshop.store.counts()[name]?.losses }

    @Test("a row that two refuse has two dead letters; one that comes back is there once")
    func refused() throws {
        let ids = try workshop.insert(1...2)
        #expect(try workshop.reject(.main) == .deadLettered(2))
        #expect(try workshop.seconds == [1, 2])
        #expect(try workshop.requeue(.main) == 2)
        #expect(try workshop.seconds == [1, 2] && workshop.dead(.main) == [])
        #expect(try workshop.reject(.main) == .deadLettered(2))
        #expect(try workshop.reject(.fleet) == .deadLettered(2))
        #expect(try workshop.seconds == [])
        #expect(try workshop.dead(.main) == ids && workshop.dead(.fleet) == ids)
        try workshop.reopen()
        #expect(try workshop.requeue(.fleet) == 2)
        #expect(try workshop.seconds == [1, 2] && workshop.pending(.main) == 0)
        #expect(try workshop.requeue(.main) == 2)
        #expect(try workshop.seconds == [1, 2])
        #expect(try workshop.drain(.main) == ids && workshop.drain(.fleet) == ids)
        #expect(try workshop.seconds == [])
    }

    @Test(
        "a row that one has received and another refuses is kept, if received ones are",
        arguments: [true, false])
    func keptThoughRefused(isKept: Bool) throws {
        workshop.options.keepsUploaded = isKept
        _ = try workshop.insert(1...2)
        _ = try workshop.insertEvent(3)
        _ = try workshop.drain(.main)
        #expect(try workshop.reject(.fleet) == .deadLettered(3))
        #expect(try workshop.seconds == (isKept ? [1, 2] : []))
        #expect(try workshop.events().count == (isKept ? 1 : 0))
        // A dead letter is not sent again by this.
        #expect(try workshop.resend(.fleet) == 0)
        try workshop.configure(.main)
        #expect(try workshop.resend(.main) == (isKept ? 3 : 0))
    }

    @Test("forgetting keeps what another has received, if received rows are kept")
    func keptThoughForgotten() throws {
        workshop.options.keepsUploaded = true
        _ = try workshop.insert(1...1500)
        _ = try workshop.insertEvent(2000)
        _ = try workshop.drain(.main, limit: 900)
        try workshop.configure(.main)
        #expect(try workshop.forget(.fleet) == 1501)
        #expect(try workshop.count("locations WHERE uploaded = 1") == 1500)
        #expect(try workshop.count("events WHERE uploaded = 1") == 1)
    }

    @Test("one is suspected, and its streak is pending again; the other is not")
    func suspicion() throws {
        for row in 1...4 { try workshop.insert(Double(row)) }
        #expect(try workshop.reject(.fleet, limit: 1) == .deadLettered(1))
        #expect(try workshop.reject(.main, limit: 1) == .deadLettered(1))
        #expect(try workshop.reject(.fleet, limit: 1) == .deadLettered(1))
        #expect(try workshop.reject(.fleet, limit: 1) == .suspected)
        #expect(try workshop.dead(.fleet) == [] && workshop.dead(.main).count == 1)
        try workshop.reopen()
        #expect(workshop.pending(.fleet) == 4 && workshop.pending(.main) == 3)
        #expect(try workshop.reject(.main, limit: 1) == .deadLettered(1))
        #expect(try workshop.drain(.fleet).count == 4)
        #expect(try workshop.reject(.main, limit: 1) == .suspected)
        #expect(try workshop.seconds == [1, 2, 3, 4])
    }

    @Test(
        "over the cap: rows that only orphans are owed, then what main has, then the oldest; each counted by name"
    )
    func cap() throws {
        try workshop.configure(.main, .fleet, .home)
        _ = try workshop.insert(1...3)
        #expect(try workshop.drain(.main).count == 3)
        _ = try workshop.insert(4...6)
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 3))
        _ = try workshop.store.acknowledge(batch)
        let second = try #require(try workshop.freezeNext(for: .fleet, limit: 1))
        _ = try workshop.store.acknowledge(second)
        // 1…3: home; 4: main, home; 5, 6: all.
        try workshop.configure(.main, .fleet)
        workshop.options.maxRows = 6
        for row in 7...9 {
            try workshop.insert(Double(row))
            try workshop.store.checkLedger()
        }
        #expect(try workshop.seconds == [4, 5, 6, 7, 8, 9])
        #expect(losses(.home) == Losses(dropped: 3) && losses(.main) == Losses())
        #expect(try workshop.freezeNext(for: .main, limit: 2)?.rows == 2)
        #expect(try workshop.store.acknowledge(try #require(try workshop.store.nextFrozen())) == 2)
        // 4: home; 5: fleet and home; the others: all.
        for row in 10...12 {
            try workshop.insert(Double(row))
            try workshop.store.checkLedger()
        }
        #expect(try workshop.seconds == [7, 8, 9, 10, 11, 12])
        #expect(losses(.home) == Losses(dropped: 6) && losses(.fleet) == Losses(dropped: 2))
        #expect(losses(.main) == Losses(dropped: 1))
        #expect(workshop.store.counts().losses == Losses(dropped: 6))
        try workshop.reopen()
        #expect(losses(.home) == Losses(dropped: 6) && losses(.main) == Losses(dropped: 1))
    }

    @Test("what only orphans are owed grows old, events as well; what others are owed does not")
    func age() throws {
        workshop.options.retention = 100
        _ = try workshop.insert(1...3)
        _ = try workshop.insertEvent(4)
        #expect(try workshop.drain(.main).count == 4)
        _ = try workshop.insert(5...6)
        try workshop.configure(.main)
        try workshop.insert(50, prunesByAge: true)
        #expect(try workshop.seconds == [1, 2, 3, 5, 6, 50])
        try workshop.insert(102.5, prunesByAge: true)
        try workshop.store.checkLedger()
        #expect(try workshop.seconds == [3, 5, 6, 50, 102.5])
        try workshop.insert(200, prunesByAge: true)
        try workshop.store.checkLedger()
        #expect(try workshop.seconds == [5, 6, 50, 102.5, 200] && workshop.events() == [])
        #expect(losses(.fleet) == Losses(pruned: 4) && losses(.main) == Losses())
        #expect(workshop.store.takeLosses() == Losses(pruned: 4))
    }

    @Test("events of a format that cannot carry them any more are owed no more, and counted")
    func events() throws {
        _ = try workshop.insert(1...2)
        _ = try workshop.insertEvent(3)
        workshop.options.destinations[1].carriesEvents = false
        try workshop.store.checkLedger()
        #expect(workshop.pending(.fleet) == 2 && workshop.pending(.main) == 3)
        #expect(losses(.fleet) == Losses(dropped: 1) && workshop.store.counts().losses == Losses())
        _ = try workshop.insertEvent(4)
        try workshop.reopen()
        #expect(try workshop.drain(.fleet).count == 2)
        #expect(try workshop.drain(.main).count == 4)
        #expect(try workshop.seconds == [] && workshop.events() == [])
        workshop.options.destinations[0].carriesEvents = false
        _ = try workshop.insertEvent(5)
        #expect(try workshop.events().count == 1)
        workshop.options.destinations = .named(.main, .fleet)
        let last = try workshop.insertEvent(6)
        #expect(try workshop.drain(.main) == [last])
    }

    @Test("a batch is split without events that its destination is to have no longer", arguments: 1...3)
    func splitAfterEvents(locations: Int) throws {
        let ids = try workshop.insert(1...locations)
        _ = try workshop.insertEvent(9)
        let batch = try #require(try workshop.freezeNext(for: .fleet))
        // main is owed it still.
        workshop.options.destinations[1].carriesEvents = false
        let halves = try workshop.store.halves(of: batch)
        #expect(halves.flatMap { $0.locations.map(\.id) } == ids)
        #expect(halves.allSatisfy { !$0.locations.isEmpty && $0.events.isEmpty })
        try workshop.store.split(
            batch, into: halves.enumerated().map { ($1, uuid(900 + $0), StoredRequest(body: [])) })
        let first = try #require(try workshop.store.nextFrozen(for: .fleet))
        #expect(first.isPiece && first.id == uuid(900))
        var received = 0
        while let piece = try workshop.store.nextFrozen(for: .fleet) {
            received += try workshop.store.acknowledge(piece)
        }
        #expect(received == locations && workshop.pending(.main) == locations + 1)
    }

    @Test("events that end when another destination is forgotten are told at once")
    func endedByForgetting() throws {
        let home = try #require(DestinationName("home"))
        workshop.options.destinations = .named(.main, .fleet, home)
        _ = try workshop.insertEvent(1)
        _ = try workshop.drain(.fleet)
        workshop.options.destinations = .named(.main, .fleet)
        workshop.options.destinations[1].carriesEvents = false
        _ = workshop.store.takeEvents()
        var resend = Resend(for: .fleet, from: time(-100), to: nil)
        while !resend.isFinished { try workshop.store.proceed(with: &resend) }
        #expect(workshop.pending(.fleet) == 1)
        var forgetting = Forgetting(home)
        while !forgetting.isFinished { try workshop.store.proceed(with: &forgetting) }
        #expect(workshop.pending(.fleet) == 0)
        #expect(workshop.store.takeEvents() == [.uncarried(.fleet, events: 1)])
    }

    @Test("an event does not take the place of one in a batch that was frozen before")
    func eventNumbers() throws {
        workshop.options.destinations = .named(.main)
        _ = try workshop.insertEvent(1)
        let batch = try #require(try workshop.freezeNext(for: .main))
        workshop.options.destinations[0].carriesEvents = false
        try workshop.reopen()
        workshop.options.destinations[0].carriesEvents = true
        let event = try workshop.insertEvent(2)
        #expect(try workshop.store.acknowledge(batch) == 0)
        #expect(try workshop.drain(.main) == [event])
    }

    @Test("size and address are each destination's own")
    func byName() throws {
        _ = try workshop.insert(1...2)
        let main = try #require(try workshop.freezeNext(for: .main))
        let fleet = try #require(try workshop.freezeNext(for: .fleet))
        for _ in 0..<3 { _ = try workshop.store.countOversized(fleet, isPermanent: true) }
        #expect(try workshop.store.rebatch() == .tooFew(failures: 0))
        try workshop.store.adopt(endpoint: 5)
        #expect(try workshop.store.nextFrozen() == main)
        #expect(try workshop.store.rebatch(for: .fleet) == .dissolved(id: fleet.id, locations: 2, events: 0))
        let again = try #require(try workshop.freezeNext(for: .fleet))
        try workshop.store.markPermanent(again)
        try workshop.store.adopt(endpoint: 5, of: .fleet)
        #expect(try workshop.store.nextFrozen(for: .fleet) == nil)
        #expect(try workshop.store.nextFrozen() == main)
        try workshop.store.checkLedger()
    }

    @Test("a large table is not counted again at a start, whoever is owed what")
    func tallies() throws {
        let path = workshop.directory.path
        workshop.store.close()
        func open() throws -> Store {
            try Store(directory: path, options: workshop.options, checkpointPages: 1000, largeTable: 20)
        }
        workshop.store = try open()
        _ = try workshop.insert(1...40)
        _ = try workshop.reject(.fleet, limit: 3)
        let batch = try #require(try workshop.freezeNext(for: .main, limit: 7))
        _ = try workshop.store.acknowledge(batch)
        let counts = workshop.store.counts()
        workshop.store.close()
        #expect(try workshop.count("tallies") == 2)
        workshop.store = try open()
        #expect(workshop.store.counts() == counts && counts.pending == 33 && counts[.fleet]?.pending == 37)
        try workshop.store.checkLedger()
        #expect(try workshop.count("tallies") == 0)
        #expect(try workshop.drain(.fleet, limit: 20).count == 37)
    }

    // MARK: Salvage

    private func damage(_ sql: String = "") throws {
        workshop.store.close()
        let db = try Connection(path: workshop.directory.file("beekon.db"), access: .damaged)
        try db.execute("PRAGMA query_only = OFF; CREATE TABLE alien (a);" + sql)
        try workshop.reopen()
        try workshop.store.checkLedger()
    }

    @Test("debts follow the rows of a damaged database; orphans, batches, dead letters as well")
    func salvage() throws {
        try workshop.configure(.main, .fleet, .home)
        let ids = try workshop.insert(1...6)
        let event = try workshop.insertEvent(7)
        let taken = try #require(try workshop.freezeNext(for: .main, limit: 2))
        _ = try workshop.store.acknowledge(taken)
        _ = try workshop.reject(.fleet, limit: 1)
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 3))
        try workshop.configure(.main, .fleet)
        try damage()
        #expect(workshop.store.counts()[.home]?.isOrphaned == true)
        let found = try #require(try workshop.store.nextFrozen(for: .fleet))
        #expect(found.id == batch.id && found.request == batch.request)
        #expect(try Set(workshop.drain(.main)) == Set(ids[2...]))
        // Its dead letters are pending again.
        #expect(try Set(workshop.drain(.fleet)) == Set(ids + [event]))
        #expect(try workshop.seconds == [1, 2, 3, 4, 5, 6])
        try workshop.configure(.main, .fleet, .home)
        #expect(try Set(workshop.drain(.home)) == Set(ids + [event]))
        #expect(try workshop.seconds == [] && workshop.events() == [])
    }

    @Test("debts that cannot be read: all rows are owed to all that are configured")
    func unreadable() throws {
        let ids = try workshop.insert(1...3)
        _ = try workshop.drain(.main)
        try damage("ALTER TABLE debts RENAME COLUMN kind TO sort;")
        #expect(try workshop.drain(.main) == ids && workshop.drain(.fleet) == ids)
    }
}
