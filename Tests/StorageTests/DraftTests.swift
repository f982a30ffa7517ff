import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// Batch after batch, where the next draft is read behind the batch that is under way.
@Suite("drafts behind a batch") struct DraftTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop()
    }

    private func acknowledge(_ batch: FrozenBatch, freezing draft: BatchDraft) throws -> FrozenBatch? {
        _ = try workshop.store.acknowledge(
            batch, freezing: draft, id: uuid(3_000_000 + batch.locations),
            StoredRequest(body: workshop.body(of: draft)))
        return try workshop.store.nextFrozen()
    }

    private func draft(_ limit: Int, after batch: FrozenBatch) throws -> BatchDraft {
        try #require(try workshop.store.draftBatch(limit: limit, after: batch))
    }

    /// What is done while the second batch is under way: neither the first nor the one after a restart.
    enum Arrival: CaseIterable { case nothing, late, requeued, sameInstant, otherSession, restart, failure }

    @Test("a row that comes in before the end of the batch under way goes next", arguments: Arrival.allCases)
    func arrivals(_ arrival: Arrival) throws {
        let old = try workshop.insert(1...1)
        let dead = try workshop.freeze()
        _ = try workshop.store.reject(dead, status: 422, at: time(50))
        let ids = try workshop.insert(2...12)
        let first = try workshop.freeze(limit: 3)
        let sent = try #require(try acknowledge(first, freezing: try draft(3, after: first)))
        #expect(sent.ids == Array(ids[3..<6]))
        var early: [UUIDv7] = []
        switch arrival {
        case .nothing: break
        case .late: early = [try workshop.insert(6.5)]
        case .requeued:
            var work = try workshop.store.begin(.requeue)
            while !work.isFinished { try workshop.store.proceed(with: &work) }
            early = old
        // The last of the batch under way is of this instant: it lies behind it, and before all others.
        case .sameInstant: early = [try workshop.insert(7)]
        case .otherSession: try workshop.insert(1.5, session: 2)
        case .restart: try workshop.reopen()
        case .failure: try failOnce()
        }
        let next = try draft(3, after: sent)
        #expect(next.locations.map(\.id) == (early + ids[6...]).prefix(3).map(\.self))
        let third = try #require(try acknowledge(sent, freezing: next))
        #expect(third.ids == next.locations.map(\.id))
        let rest = try draft(10, after: third)
        #expect(rest.locations.map(\.id) == (early + ids[6...]).dropFirst(3).map(\.self))
    }

    /// An operation that fails makes the store open its database anew.
    private func failOnce() throws {
        let blocker = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
        try blocker.execute("BEGIN IMMEDIATE")
        #expect(throws: StorageError.self) { try workshop.insert(30) }
        try blocker.execute("ROLLBACK")
    }

    @Test("rows of other extras between those of the batch under way are not forgotten")
    func extras() throws {
        let plain = try [1, 2, 4].map { try workshop.insert($0) }
        let other = try workshop.insert(3, extras: "{}")
        let last = try workshop.insert(5)
        let sent = try workshop.freeze(limit: 4)
        #expect(sent.ids == plain)
        let next = try draft(4, after: sent)
        #expect(next.locations.map(\.id) == [other])
        let second = try #require(try acknowledge(sent, freezing: next))
        #expect(try draft(4, after: second).locations.map(\.id) == [last])
    }

    /// What happens between a draft and its freezing, and whether that leaves its rows alone.
    enum Event: CaseIterable {
        case nothing, insertion, deletionBefore, deletionWithin, deletionAndInsertion, requeue
        var sparesIt: Bool { self != .deletionWithin && self != .deletionAndInsertion }
    }

    @Test(
        "a draft is frozen when its rows are still there, whatever else was written",
        arguments: Event.allCases)
    func betweenDraftAndFreezing(_ event: Event) throws {
        try workshop.insert(1)
        _ = try workshop.store.reject(try workshop.freeze(), status: 422, at: time(50))
        _ = try workshop.insert(2...9)
        let sent = try workshop.freeze(limit: 2)
        // Before the rows that are under way: a deletion can take it and leave those.
        let late = try workshop.insert(1.5)
        let next = try draft(4, after: sent)
        #expect(next.locations.first?.id == late)
        switch event {
        case .nothing: break
        case .insertion: try workshop.insert(5)
        case .deletionBefore: _ = try workshop.delete(before: 1)
        case .deletionWithin: _ = try workshop.delete(before: 1.7)
        case .deletionAndInsertion:
            _ = try workshop.delete(before: 1.7)
            try workshop.insert(1.5)
        case .requeue:
            var work = try workshop.store.begin(.requeue)
            while !work.isFinished { try workshop.store.proceed(with: &work) }
        }
        let frozen = try acknowledge(sent, freezing: next)
        #expect(frozen?.ids == (event.sparesIt ? next.locations.map(\.id) : nil))
    }

    @Test("a row that nobody can read holds up none of the others, and stays")
    func unreadable() throws {
        let ids = try workshop.insert(1...9)
        workshop.store.close()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
            .execute(#"UPDATE locations SET "trigger" = 99 WHERE seq IN (3, 7)"#)
        try workshop.reopen()
        var sent: [UUIDv7] = []
        var batch: FrozenBatch? = try workshop.freeze(limit: 2)
        while let current = batch {
            sent += current.ids
            guard let next = try workshop.store.draftBatch(limit: 2, after: current) else {
                _ = try workshop.store.acknowledge(current)
                break
            }
            batch = try acknowledge(current, freezing: next)
        }
        #expect(sent == ids.enumerated().filter { $0.offset != 2 && $0.offset != 6 }.map(\.element))
        #expect(try workshop.count(#"locations WHERE "trigger" = 99"#) == 2)
        #expect(try workshop.count("locations") == 2)
        // Nothing else is left of their session; another one goes all the same.
        let later = try workshop.insert(10...11, session: 2)
        #expect(try workshop.freeze(limit: 9).ids == later)
    }
}
