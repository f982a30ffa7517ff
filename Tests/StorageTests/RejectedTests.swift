import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("dead letters on their way back") struct RejectedTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop()
    }

    private func reject(limit: Int, at second: Double = 50) throws -> [UUIDv7] {
        let batch = try workshop.freeze(limit: limit)
        try #require(
            try workshop.store.reject(batch, status: 422, at: time(second)) == .deadLettered(batch.locations))
        return batch.ids
    }

    private func work(_ act: RejectedWork.Act) throws -> Int {
        var work = try workshop.store.begin(act)
        while !work.isFinished { try workshop.store.proceed(with: &work) }
        return work.done
    }

    private func rejected() throws -> [RejectedRow] {
        let history = try History(directory: workshop.directory.path)
        var cursor = RejectedCursor()
        var all: [RejectedRow] = []
        while !cursor.isAtEnd { all += try history.next(&cursor, limit: 3) }
        return all
    }

    @Test("they are listed in the order of their rejection, with everything that is known")
    func list() throws {
        let ids = try workshop.insert(1...8, session: 4, extras: #"{"a":1}"#)
        _ = try reject(limit: 4, at: 60)
        _ = try reject(limit: 4, at: 50)
        let found = try rejected()
        #expect(found.map(\.location?.id) == Array(ids[4...] + ids[..<4]))
        #expect(found.map(\.location?.fix.time) == [5, 6, 7, 8, 1, 2, 3, 4].map(time))
        #expect(found.allSatisfy { $0.location?.session == uuid(4) && $0.httpStatus == 422 })
        #expect(found.map(\.batch) == [2, 2, 2, 2, 1, 1, 1, 1].map { uuid(2_000_000 + $0) })
        #expect(Set(found.map(\.rejectedAt)) == [time(50), time(60)])
    }

    @Test("each has the reason that it was refused for, until it is put back")
    func reasons() throws {
        _ = try workshop.insert(1...4)
        #expect(try workshop.store.newestRefusal(by: .main) == nil)
        for (second, reason) in [(60.0, "no plate" as String?), (70, nil)] {
            _ = try workshop.store.reject(
                try workshop.freeze(limit: 2), status: 422, reason: reason, at: time(second))
        }
        #expect(try rejected().map(\.reason) == ["no plate", "no plate", nil, nil])
        #expect(try workshop.store.newestRefusal(by: .main) == Refusal(status: 422, time: time(70)))
        try workshop.reopen()
        #expect(try rejected().map(\.reason) == ["no plate", "no plate", nil, nil])
        #expect(try work(.requeue) == 4)
        #expect(try workshop.store.newestRefusal(by: .main) == nil)
        _ = try workshop.store.reject(
            try workshop.freeze(limit: 4), status: 400, reason: "closed", at: time(80), isProbed: true)
        #expect(try rejected().map(\.reason) == ["closed", "closed", "closed", "closed"])
    }

    @Test("re-queued, they are pending under their own ids, with their extras, and the oldest go first")
    func requeue() throws {
        let first = try workshop.insert(1...3, extras: #"{"driver":"7"}"#)
        #expect(try reject(limit: 3) == first)
        let later = try workshop.insert(4...5)
        #expect(try work(.requeue) == 3)
        #expect(try rejected().isEmpty)
        #expect(workshop.store.counts() == StoreCounts(locations: 5, pending: 5, oldestPending: time(1)))
        try workshop.reopen()
        #expect(workshop.store.counts() == StoreCounts(locations: 5, pending: 5, oldestPending: time(1)))
        let draft = try #require(try workshop.store.draftBatch(limit: 10))
        #expect(draft.extras == #"{"driver":"7"}"#)
        #expect(draft.locations.map(\.id) == first)
        let batch = try #require(try workshop.freeze(draft))
        #expect(batch.id != uuid(2_000_001))
        #expect(try workshop.store.acknowledge(batch) == 3)
        #expect(try workshop.freeze().ids == later)
    }

    @Test(
        "none joins a batch that is frozen already, though it lies within its span", arguments: [false, true])
    func frozenSpan(isReopened: Bool) throws {
        let old = try workshop.insert(10...12)
        #expect(try reject(limit: 3) == old)
        // The receiver's time went back: these lie around the dead letters.
        let new = try workshop.insert(9...14)
        let frozen = try workshop.freeze(limit: 10)
        #expect(frozen.ids == new)
        if isReopened { try workshop.reopen() }
        #expect(try work(.requeue) == 3)
        if isReopened { try workshop.reopen() }
        #expect(try workshop.store.nextFrozen() == frozen)
        #expect(try workshop.store.acknowledge(frozen) == 6)
        #expect(workshop.store.counts() == StoreCounts(locations: 3, pending: 3, oldestPending: time(10)))
        let again = try workshop.freeze()
        #expect(again.ids == old)
        // And rejected once more, beside a batch that was frozen after the first return.
        #expect(try workshop.store.reject(again, status: 400, at: time(60)) == .deadLettered(3))
        let third = try workshop.insert(9...14)
        let span = try workshop.freeze(limit: 10)
        #expect(try work(.requeue) == 3)
        #expect(try workshop.store.acknowledge(span) == 6)
        #expect(span.ids == third)
        #expect(try workshop.freeze().ids == old)
    }

    @Test("none joins a draft that is about to be frozen")
    func draft() throws {
        _ = try workshop.insert(10...12)
        _ = try reject(limit: 3)
        _ = try workshop.insert(9...14)
        let draft = try #require(try workshop.store.draftBatch(limit: 10))
        #expect(try work(.requeue) == 3)
        let batch = try #require(try workshop.freeze(draft))
        #expect(try workshop.store.acknowledge(batch) == 6)
        #expect(workshop.store.counts().pending == 3)
    }

    @Test("the session keeps its end, its length and its last fix")
    func session() throws {
        _ = try workshop.insert(1...6)
        _ = try reject(limit: 4)
        _ = try workshop.store.acknowledge(try workshop.freeze())
        let before = try workshop.sessions()
        #expect(before.map(\.locations) == [6])
        #expect(try work(.requeue) == 4)
        #expect(try workshop.sessions() == before)
        try workshop.reopen()
        #expect(try workshop.sessions() == before)
        let tail = try workshop.store.enter(session: uuid(1), startedAt: time(0))
        #expect(tail?.reference?.time == time(6))
        #expect(tail?.odometer == 6)
        try workshop.insert(7)
        #expect(try workshop.sessions().map(\.locations) == [7])
    }

    @Test("what the row cap leaves no room for stays a dead letter")
    func cap() throws {
        _ = try workshop.insert(1...10)
        _ = try reject(limit: 6)
        workshop.options.maxRows = 8
        #expect(try work(.requeue) == 4)
        #expect(
            workshop.store.counts()
                == StoreCounts(locations: 8, pending: 8, oldestPending: time(1), rejected: 2))
        #expect(try work(.requeue) == 0)
        #expect(try rejected().map(\.location?.fix.time) == [time(5), time(6)])
    }

    @Test("at most a thousand go with one transaction, and those that come meanwhile stay")
    func steps() throws {
        for second in 1...2500 { try workshop.insert(Double(second)) }
        for _ in 0..<2 { _ = try reject(limit: 1000) }
        _ = try workshop.store.acknowledge(try workshop.freeze(limit: 100))
        for act in [RejectedWork.Act.requeue, .purge] {
            var work = try workshop.store.begin(act)
            try workshop.store.proceed(with: &work)
            #expect(work.done == 1000 && !work.isFinished)
            let more = try reject(limit: 150, at: act == .requeue ? 60 : 70)
            try workshop.store.proceed(with: &work)
            #expect(work.done == 2000 && work.isFinished)
            #expect(try Set(rejected().map(\.location?.id)) == Set(more))
            guard act == .requeue else { continue }
            // Two thousand again, of which the first batch may not count as the third in a row.
            _ = try workshop.store.acknowledge(try workshop.freeze(limit: 1))
            _ = try reject(limit: 925, at: 61)
            _ = try reject(limit: 925, at: 62)
            _ = try workshop.store.acknowledge(try workshop.freeze(limit: 1))
        }
    }

    @Test("purged, they are gone")
    func purge() throws {
        _ = try workshop.insert(1...4)
        _ = try reject(limit: 2)
        #expect(try work(.purge) == 2)
        #expect(try rejected().isEmpty)
        #expect(workshop.store.counts() == StoreCounts(locations: 2, pending: 2, oldestPending: time(3)))
        try workshop.reopen()
        #expect(workshop.store.counts() == StoreCounts(locations: 2, pending: 2, oldestPending: time(3)))
    }
}
