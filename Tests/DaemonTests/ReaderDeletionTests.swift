import Base
import DaemonConfiguration
import Linux
import SQLite
import Storage
import Testing
import Tracking

@testable import Daemon

/// What becomes of rows that wait in memory, and of a deletion, while the disk is slow or faulty.
@Suite("deletions and the reader")
struct ReaderDeletionTests {
    private let workshop: Workshop
    private let reader: Reader

    init() throws {
        workshop = try Workshop()
        reader = try #require(Reader(hub: workshop.hub, settings: Settings()))
    }

    /// Fixes of these seconds wait in memory.
    private func wait(_ seconds: ClosedRange<Int>) throws {
        try workshop.breakStorage()
        for second in seconds { reader.recorder.add(try workshop.location(Double(second))) }
        reader.flush(now: instant(0))
        try workshop.mendStorage()
        #expect(reader.recorder.waiting == seconds.count)
    }

    private func store(_ seconds: ClosedRange<Int>) throws {
        for second in seconds { reader.recorder.add(try workshop.location(Double(second))) }
        while reader.recorder.waiting > 0 { reader.flush(now: .current()) }
    }

    private func execute(_ sql: String) throws {
        try Connection(path: workshop.state + "/beekon.db", access: .readWrite).execute(sql)
    }

    private func stored() throws -> [Timestamp] {
        let history = try History(directory: workshop.state)
        var cursor = LocationCursor(from: nil, to: nil)
        return try history.next(&cursor).map(\.fix.time)
    }

    /// The answers to deletions that have come: how many went, or nil. Other commands have tokens from 100.
    private func answers() -> [Int?] {
        reader.endTurn()
        return workshop.hub.main.takeAll().compactMap { message in
            guard case .completed(let token, let result) = message, token < 100 else { return nil }
            guard case .success(.removal(let removed, _)) = result else { return .some(nil) }
            return removed
        }
    }

    private func complete(from seconds: Double) {
        for step in 0..<1000 where reader.work.isDeleting {
            reader.runSteps(now: instant(seconds + Double(step)))
        }
        #expect(!reader.work.isDeleting)
    }

    private func time(_ second: Double) -> Timestamp { start.advanced(bySeconds: second) }

    @Test(
        "rows that wait for the disk are not written after it, and the others are",
        arguments: [
            // Some work for each row: more than a flush may take.
            """
            SELECT COUNT(*) FROM (WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9000000)
            SELECT i FROM n)
            """, "SELECT RAISE(ABORT, 'no fix can be written')",
        ])
    func waiting(fault: String) throws {
        try wait(1...4)
        try execute("CREATE TRIGGER fault BEFORE INSERT ON locations BEGIN \(fault); END")
        reader.perform(.delete(before: time(3), 1), now: .current())
        #expect(reader.work.isDeleting && reader.recorder.waiting <= 1)
        try execute("DROP TRIGGER fault")
        complete(from: 1e6)
        while reader.recorder.waiting > 0 { reader.flush(now: .current()) }
        #expect(try stored() == [time(4)])
        #expect(answers() == [3])
    }

    @Test("one that fails is tried again while the daemon runs, and no other row comes into its way")
    func retries() throws {
        try store(0...3)
        reader.perform(.delete(before: time(2), 1), now: instant(0))
        try workshop.breakStorage()
        for second in [0.0, 0.1, 10, 20] { reader.runSteps(now: instant(second)) }
        #expect(answers() == [nil])
        let first = try #require(reader.work.retryAt)
        #expect(first > instant(20.9) && first < instant(20 + 300))
        #expect(!reader.work.hasSteps && reader.work.isDoomed(time(2)))
        try workshop.mendStorage()
        reader.perform(.rejected(.requeue, of: .main, 102), now: instant(20))
        reader.perform(.owe(.resend(Resend(from: start, to: nil)), 103), now: instant(20))
        reader.endTurn()
        let refused = workshop.hub.main.takeAll().filter { message in
            if case .completed(102...103, .failure) = message { true } else { false }
        }
        #expect(refused.count == 2)
        reader.runSteps(now: instant(20.1))
        #expect(reader.work.isDeleting, "not before its time")
        complete(from: 400)
        #expect(try stored() == [time(3)])
        #expect(answers() == [])
        #expect(try workshop.hub.store.unfinishedDeletion() == nil)
    }

    @Test("another one may follow one that has failed, and covers it")
    func follows() throws {
        try store(0...3)
        reader.perform(.delete(before: time(1), 1), now: instant(0))
        reader.perform(.delete(before: nil, 2), now: instant(0))
        #expect(answers() == [nil], "one at a time")
        try workshop.breakStorage()
        reader.runSteps(now: instant(0))
        reader.perform(.delete(before: time(2), 3), now: instant(0))
        #expect(answers() == [nil, nil], "it cannot begin")
        try workshop.mendStorage()
        reader.perform(.delete(before: time(2), 4), now: instant(0))
        complete(from: 0)
        #expect(answers() == [3])
        #expect(try stored() == [time(3)])
    }
}
