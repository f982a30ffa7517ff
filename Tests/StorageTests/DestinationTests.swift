import Base
import Support
import Testing

@testable import Storage
@testable import Tracking

/// What is owed to whom.
@Suite("several destinations")
struct DestinationTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(StoreOptions(destinations: .named(.main, .fleet)))
    }

    /// The test of everything else: after it, a start knows what the running store knew.
    private func reopen() throws {
        let before = workshop.store.counts()
        try workshop.reopen()
        #expect(workshop.store.counts() == before)
        try workshop.store.checkLedger()
    }

    @Test("a row is owed to all that are configured when it is stored, and leaves with its last debt")
    func owed() throws {
        let ids = try workshop.insert(1...5)
        let event = try workshop.insertEvent(6)
        #expect(workshop.pending(.main) == 6 && workshop.pending(.fleet) == 6)
        try reopen()
        #expect(try workshop.drain(.main) == [ids[0], ids[1], ids[2], event, ids[3], ids[4]])
        #expect(workshop.pending(.main) == 0 && workshop.pending(.fleet) == 6)
        #expect(try workshop.seconds == [1, 2, 3, 4, 5])
        try reopen()
        #expect(try Set(workshop.drain(.fleet)) == Set(ids + [event]))
        #expect(try workshop.seconds == [] && workshop.events() == [])
        try reopen()
    }

    /// How many locations there are up to a time, and how many of them nobody has.
    private func count(to seconds: Double? = nil) throws -> [Int] {
        let history = try History(directory: workshop.directory.path)
        var cursor = CountCursor(to: seconds.map { time($0) })
        var found = [0, 0]
        while !cursor.isAtEnd {
            let parts = try history.next(&cursor)
            let (all, unsent) = try #require(parts.first)
            found = [found[0] + all, found[1] + unsent]
        }
        return found
    }

    @Test("what nobody has received is counted: not what one of them has, nor what is kept")
    func unsent() throws {
        #expect(try count() == [0, 0])
        _ = try workshop.insert(1...6)
        #expect(try count() == [6, 6])
        #expect(try count(to: 4) == [4, 4])
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 4))
        _ = try workshop.store.acknowledge(batch)
        #expect(try count() == [6, 2])
        #expect(try count(to: 4) == [4, 0])
        // Another that was never owed them has not received them, either.
        try workshop.configure(.main, .fleet, .home)
        _ = try workshop.insert(7...7)
        #expect(try count() == [7, 3])
        let kept = try Workshop(StoreOptions(keepsUploaded: true))
        _ = try kept.insert(1...3)
        _ = try kept.store.acknowledge(try kept.freeze(limit: 2))
        var cursor = CountCursor(to: nil)
        let parts = try History(directory: kept.directory.path).next(&cursor)
        let (all, unsent) = try #require(parts.first)
        #expect((all, unsent) == (3, 1) && cursor.isAtEnd)
    }

    @Test("a new one is owed what is stored from then on")
    func new() throws {
        let first = try workshop.insert(1...3)
        try workshop.configure(.main, .fleet, .home)
        let later = try workshop.insert(4...5)
        #expect(try workshop.drain(.home) == later)
        try reopen()
        #expect(try workshop.drain(.main) == first + later)
        #expect(try workshop.drain(.fleet) == first + later)
        #expect(try workshop.seconds == [])
    }

    @Test("what was stored while there was none is owed to main once it is there, and to nobody else")
    func localOnly() throws {
        let workshop = try Workshop(StoreOptions())
        let first = try workshop.insert(1...3)
        try workshop.configure(.fleet)
        let later = try workshop.insert(4...4)
        try workshop.reopen()
        #expect(try workshop.drain(.fleet) == later)
        try workshop.configure(.main, .fleet)
        #expect(try workshop.drain(.main) == first)
        try workshop.configure(.main)
        try workshop.reopen()
        try workshop.store.checkLedger()
    }

    @Test("all orphans, and nothing configured: what is stored then waits for main, too")
    func nobody() throws {
        try workshop.configure(.fleet)
        let first = try workshop.insert(1...2)
        try workshop.configure()
        let later = try workshop.insert(3...4)
        _ = try workshop.insert(20 * 86_400, prunesByAge: false)
        try reopen()
        try workshop.configure(.main)
        #expect(try workshop.drain(.fleet).starts(with: first + later))
    }

    @Test("an orphan that is configured again has lost nothing")
    func orphan() throws {
        let first = try workshop.insert(1...3)
        try workshop.configure(.main)
        #expect(workshop.store.counts()[.fleet]?.isOrphaned == true)
        let later = try workshop.insert(4...6)
        try reopen()
        #expect(try workshop.drain(.main) == first + later)
        #expect(try workshop.seconds == [1, 2, 3, 4, 5, 6])
        try workshop.configure(.main, .fleet)
        #expect(workshop.store.counts()[.fleet]?.isOrphaned == false)
        #expect(try workshop.drain(.fleet) == first + later)
    }

    @Test("main can be one, too: an error in its url costs nothing")
    func orphanedMain() throws {
        let workshop = try Workshop(StoreOptions(destinations: .main))
        try workshop.store.adopt(endpoint: 7)
        let first = try workshop.insert(1...2)
        try workshop.configure(.fleet)
        let later = try workshop.insert(3...4)
        #expect(try workshop.drain(.fleet) == later)
        try workshop.reopen()
        try workshop.configure(.main, .fleet)
        #expect(try workshop.drain(.main) == first + later)
    }

    @Test("after seven days by trusted time it is owed no more of what comes, but what it was owed")
    func aged() throws {
        let first = try workshop.insert(1...2)
        try workshop.configure(.main)
        // Not trusted: neither the beginning nor the end.
        let untrusted = try workshop.insert(-30 * 86_400)
        let start = try workshop.insert(10, prunesByAge: true)
        let last = try workshop.insert(10 + 7 * 86_400, prunesByAge: true)
        let untrustedLast = try workshop.insert(11 + 20 * 86_400)
        try reopen()
        let after = try workshop.insert(12 + 7 * 86_400, prunesByAge: true)
        try workshop.store.checkLedger()
        #expect(workshop.pending(.fleet) == 6)
        try reopen()
        try workshop.configure(.main, .fleet)
        let owed = try Set(workshop.drain(.fleet))
        #expect(owed == Set(first + [untrusted, start, last, untrustedLast]))
        #expect(try workshop.drain(.main).contains(after))
    }

    @Test("an orphan is forgotten with its debts, batches, dead letters; one that is configured is not")
    func forget() throws {
        let first = try workshop.insert(1...4)
        _ = try workshop.insertEvent(5)
        _ = try workshop.reject(.fleet, limit: 2)
        _ = try workshop.freezeNext(for: .fleet)
        #expect(try workshop.forget(.fleet) == 0)
        #expect(try workshop.dead(.fleet).count > 0)
        try workshop.configure(.main)
        #expect(try workshop.drain(.main).count == 5)
        #expect(try workshop.forget(.fleet) == 2)
        #expect(try workshop.seconds == [] && workshop.events() == [])
        #expect(try workshop.count("debts") == 0 && workshop.count("destinations") == 0)
        #expect(try workshop.count("batches") == 0 && workshop.count("rejected") == 0)
        #expect(try workshop.count("streak") == 0)
        #expect(workshop.store.counts()[.fleet] == nil)
        try reopen()
        let later = try workshop.insert(6...7)
        #expect(try workshop.drain(.main) == later && !first.isEmpty)
    }

    @Test("forgetting that is interrupted is completed by the next request")
    func forgetInSteps() throws {
        _ = try workshop.insert(1...1200)
        try workshop.configure(.main)
        _ = try workshop.drain(.main, limit: 600)
        var work = Forgetting(.fleet)
        try workshop.store.proceed(with: &work)
        try workshop.store.checkLedger()
        #expect(work.removed == 1000 && !work.isFinished)
        try reopen()
        #expect(workshop.pending(.fleet) == 200)
        #expect(try workshop.forget(.fleet) == 200)
        #expect(try workshop.seconds == [])
        try reopen()
    }

    @Test("another can come after one that was forgotten while main had taken nothing")
    func forgottenEarly() throws {
        let ids = try workshop.insert(1...2)
        try workshop.configure(.main)
        #expect(try workshop.forget(.fleet) == 0)
        #expect(try workshop.count("debts") == 0 && workshop.count("destinations") == 0)
        try workshop.configure(.main, .home)
        let later = try workshop.insert(3...3)
        try reopen()
        #expect(try workshop.drain(.home) == later)
        #expect(try workshop.drain(.main) == ids + later)
    }

    @Test("main can be forgotten")
    func forgetMain() throws {
        let ids = try workshop.insert(1...2)
        try workshop.configure(.fleet)
        #expect(try workshop.forget(.main) == 0)
        #expect(workshop.pending(.main) == 0)
        try reopen()
        #expect(try workshop.resend(.main) == 0)
        try workshop.configure()
        let local = try workshop.insert(3...3)
        try workshop.configure(.main)
        #expect(try workshop.drain(.main) == local)
        #expect(try workshop.backfill(.main) == 2)
        #expect(try workshop.drain(.main) == ids)
    }

    @Test("a backfill owes what was stored before, from a time on, kept rows as well, and each but once")
    func backfill() throws {
        workshop.options.keepsUploaded = true
        let first = try workshop.insert(1...4)
        let event = try workshop.insertEvent(5)
        _ = try workshop.drain(.main)
        _ = try workshop.drain(.fleet)
        try workshop.configure(.main, .fleet, .home)
        let later = try workshop.insert(6...7)
        #expect(try workshop.backfill(.home, from: 3) == 3)
        try reopen()
        #expect(workshop.pending(.main) == 2 && workshop.pending(.fleet) == 2)
        #expect(try Set(workshop.drain(.home)) == Set(first[2...] + [event] + later))
        #expect(try workshop.backfill(.home, from: 3) == 0)
        #expect(try workshop.backfill(.home) == 2)
        #expect(try workshop.drain(.home) == Array(first[..<2]))
        #expect(try workshop.backfill(.home) == 0 && workshop.backfill(.main) == 0)
        #expect(try workshop.seconds == [1, 2, 3, 4, 6, 7])
    }

    @Test("of 2,500 rows: in steps, of which each is complete, and as one range")
    func largeBackfill() throws {
        _ = try workshop.insert(1...2500)
        try workshop.configure(.main, .home)
        var work = Backfill(of: .home, from: nil)
        try workshop.store.proceed(with: &work)
        try workshop.store.checkLedger()
        #expect(work.done == 1000)
        try reopen()
        #expect(try workshop.backfill(.home) == 1500)
        #expect(try workshop.count("debts WHERE destination = 'home' AND kind = 0") == 1)
    }

    @Test("nothing joins a batch that is frozen: backfill, resend, re-queue")
    func exact() throws {
        workshop.options.keepsUploaded = true
        let first = try workshop.insert([1, 3, 5, 7].map { $0 })
        _ = try workshop.reject(.main, limit: 1)
        _ = try workshop.drain(.main)
        _ = try workshop.drain(.fleet)
        try workshop.configure(.main, .fleet, .home)
        let later = try workshop.insert([2, 4, 6, 8].map { $0 })
        let batches = try [DestinationName.main, .fleet, .home].map { name in
            try #require(try workshop.freezeNext(for: name))
        }
        #expect(try workshop.backfill(.home) == 4)
        #expect(try workshop.resend(.fleet) == 4)
        #expect(try workshop.requeue(.main) == 1)
        try reopen()
        for batch in batches {
            #expect(batch.rows == 4)
            #expect(try workshop.store.acknowledge(batch) == 4)
            try workshop.store.checkLedger()
        }
        #expect(try workshop.drain(.main) == [first[0]])
        #expect(try workshop.drain(.fleet) == first && workshop.drain(.home) == first)
        #expect(try workshop.count("locations WHERE uploaded = 1") == 8 && !later.isEmpty)
    }

    @Test("an answer that comes twice, as after a COMMIT that failed and was none, counts once")
    func twice() throws {
        _ = try workshop.insert(1...6)
        _ = try workshop.insertEvent(7)
        let batch = try #require(try workshop.freezeNext(for: .fleet, limit: 3))
        #expect(try workshop.store.acknowledge(batch) == 4)
        #expect(try workshop.store.acknowledge(batch) == 0)
        try workshop.store.checkLedger()
        let second = try #require(try workshop.freezeNext(for: .fleet, limit: 3))
        #expect(try workshop.store.reject(second, status: 400, at: time(9)) == .deadLettered(3))
        #expect(try workshop.store.reject(second, status: 400, at: time(9)) == .deadLettered(0))
        try workshop.store.checkLedger()
        #expect(try workshop.dead(.fleet).count == 3)
        #expect(try workshop.seconds == [1, 2, 3, 4, 5, 6])
    }
}

extension Workshop {
    fileprivate func insert(_ seconds: [Int]) throws -> [UUIDv7] {
        try seconds.map { try insert(Double($0)) }
    }
}
