import Base
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("what a destination refuses for good, and what cannot be sent to it") struct RefusalTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop()
    }

    private func refusals(_ count: Int = 2, closes: Int = 7) -> Refusals {
        var refusals = Refusals()
        (refusals.batch, refusals.count, refusals.silentCloses) = (uuid(5), count, closes)
        return refusals
    }

    @Test("the counts survive a restart, each destination's its own")
    func restart() throws {
        #expect(try store.refusals(by: .main) == Refusals())
        try store.set(refusals(), by: .home)
        try workshop.reopen()
        #expect(try store.refusals(by: .home) == refusals())
        #expect(try store.refusals(by: .main) == Refusals())
        try store.set(Refusals(), by: .home)
        #expect(try store.refusals(by: .home) == Refusals())
    }

    @Test("another endpoint or format begins anew, the same one does not")
    func adopted() throws {
        try store.adopt(endpoint: 1, format: 1)
        try store.set(refusals(), by: .main)
        try store.adopt(endpoint: 1, format: 1)
        #expect(try store.refusals(by: .main) == refusals())
        try store.adopt(endpoint: 2, format: 1)
        #expect(try store.refusals(by: .main) == Refusals())
        try store.set(refusals(), by: .main)
        try store.adopt(endpoint: 2, format: 2)
        #expect(try store.refusals(by: .main) == Refusals())
    }

    /// One row a batch.
    private func one(after batch: FrozenBatch? = nil) throws -> FrozenBatch {
        let draft =
            if let batch {
                try store.draftBatch(limit: 1, asOne: true, after: batch)
            } else {
                try store.draftBatch(limit: 1, asOne: true)
            }
        let found = try #require(draft)
        let frozen = try workshop.freezeAll(found)
        return try #require(frozen)
    }

    @Test("a row that is to blame becomes a dead letter behind its probe, and nobody is suspected for it")
    func blamed() throws {
        let ids = try workshop.insert(1...9)
        for round in 0..<4 {
            let poison = try one()
            let probe = try one(after: poison)
            #expect(poison.ids == [ids[round * 2]] && probe.ids == [ids[round * 2 + 1]])
            #expect(try store.nextFrozen() == poison)
            #expect(try store.frozenBehind(poison) == probe)
            #expect(try store.frozenBehind(probe) == nil)
            // The probe waits behind the row over a restart.
            try workshop.reopen()
            #expect(try store.frozenBehind(poison) == probe)
            try store.set(refusals(3), by: .main)
            #expect(try store.acknowledge(probe) == 1)
            let fate = try store.reject(
                poison, status: 400, at: time(50), trusted: time(50), isProbed: true)
            #expect(fate == .deadLettered(1))
            #expect(try store.refusals(by: .main) == Refusals())
            try store.checkLedger()
        }
        #expect(store.counts() == StoreCounts(locations: 1, pending: 1, oldestPending: time(9), rejected: 4))
        #expect(try workshop.lines("SELECT count(*) FROM streak") == ["0"])
    }

    @Test("a batch that is rejected again before it is split, or after its COMMIT, counts once")
    func countedOnce() throws {
        _ = try workshop.insert(1...40)
        let batch = try workshop.freeze()
        for _ in 0..<5 {
            #expect(try !store.countRejection(of: batch))
            try workshop.reopen()
        }
        #expect(try store.reject(batch, status: 422, at: time(50)) == .deadLettered(10))
        #expect(try store.reject(batch, status: 422, at: time(50)) == .deadLettered(0))
        let second = try workshop.freeze()
        #expect(try !store.countRejection(of: second))
        #expect(try !store.countRejection(of: second))
        _ = try store.reject(second, status: 422, at: time(50))
        #expect(try store.countRejection(of: workshop.freeze()))
    }

    private func crossed(_ numbers: ClosedRange<Int>) throws {
        for number in numbers { _ = try workshop.insertEvent(Double(number)) }
    }

    @Test("events that cannot be sent to one destination are still owed to the others")
    func dropped() throws {
        workshop.options.destinations = .named(.main, .home)
        try crossed(1...3)
        let draft = try #require(try store.draftBatch(for: .home, limit: 1, asOne: true))
        #expect(try store.drop(draft) == 1)
        try store.checkLedger()
        #expect(store.counts()[.home]?.pending == 2 && store.counts()[.main]?.pending == 3)
        #expect(store.counts()[.home]?.losses.dropped == 1 && store.counts().losses.dropped == 0)
        #expect(try workshop.drain(.main).count == 3)
        let last = try #require(try store.draftBatch(for: .home, limit: 1, asOne: true))
        #expect(try store.drop(last) == 1)
        #expect(store.counts().losses.dropped == 1)
        // Whoever drops them says so.
        #expect(store.takeLosses() == Losses())
        try workshop.reopen()
        #expect(store.counts()[.home]?.losses.dropped == 2)
        #expect(try workshop.drain(.home).count == 1)
    }

    @Test("a format that carries no events any more is news, once")
    func uncarried() throws {
        workshop.options.destinations = .named(.main, .home)
        try crossed(1...3)
        workshop.options.destinations[1].carriesEvents = false
        #expect(store.takeEvents() == [.uncarried(.home, events: 3)])
        workshop.options.destinations[1].carriesEvents = false
        #expect(store.takeEvents() == [])
        #expect(store.takeLosses() == Losses())
        #expect(store.counts()[.home]?.losses.dropped == 3)
    }
}
