import Glibc
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("a deletion that was not completed, and what follows it")
struct UnfinishedDeletionTests {
    private let workshop: Workshop

    /// Five rows, deleted; the steps after that fail; eleven rows come later.
    init() throws {
        workshop = try Workshop()
        _ = try workshop.insert(1...5)
        var all = try workshop.store.beginDeletion(before: nil)
        try workshop.store.proceed(with: &all)
        _ = try workshop.insert(100...110)
    }

    @Test("a smaller deletion does not become one of everything")
    func smaller() throws {
        #expect(try workshop.delete(before: 50).removed == 0)
        #expect(try workshop.stored().count == 11)
        #expect(try workshop.store.unfinishedDeletion() == nil)
        #expect(try workshop.delete(before: 104).removed == 5)
    }

    @Test("both are known after a restart, and the first does not cover what came after it")
    func restart() throws {
        _ = try workshop.store.beginDeletion(before: time(104))
        try workshop.reopen()
        _ = try workshop.insert(90...92)
        var deletion = try #require(try workshop.store.unfinishedDeletion())
        #expect(deletion.cutoff == nil)
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(deletion.removed == 5)
        #expect(try workshop.stored().count == 9)
        #expect(try workshop.store.unfinishedDeletion() == nil)
    }

    @Test("of a database that is gone, it covers nothing that the next one holds")
    func replaced() throws {
        var deletion = try #require(try workshop.store.unfinishedDeletion())
        for suffix in ["", "-wal", "-shm"] { unlink(workshop.directory.file("beekon.db" + suffix)) }
        _ = try workshop.insert(200...202)
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(try workshop.stored().count == 3)
    }

    @Test("a larger one replaces it")
    func larger() throws {
        _ = try workshop.store.beginDeletion(before: time(104))
        let deletion = try workshop.store.beginDeletion(before: nil)
        #expect(deletion.following.isEmpty)
        #expect(try workshop.delete().removed == 11)
    }

    @Test("no dead letter comes back under another number, which the deletion would not know")
    func suspicion() throws {
        func reject() throws -> Rejection {
            let batch = try workshop.store.nextFrozen() ?? workshop.freeze(limit: 2)
            return try workshop.store.reject(batch, status: 422, at: time(200))
        }
        _ = try workshop.delete()
        _ = try workshop.insert(1...8)
        for _ in 0..<2 { #expect(try reject() == .deadLettered(2)) }
        _ = try workshop.store.beginDeletion(before: time(3))
        #expect(try reject() == .suspected)
        #expect(workshop.store.counts().rejected == 4)
        try workshop.reopen()
        var deletion = try #require(try workshop.store.unfinishedDeletion())
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(deletion.removed == 3)
        // The others come back after it.
        #expect(try reject() == .suspected)
        #expect(try workshop.stored().map(\.fix.time) == [4, 5, 6, 7, 8].map(time))
        #expect(workshop.store.counts().pending == 5)
    }

    @Test("a deletion of everything removes databases that were moved aside, and no file of the operator's")
    func aside() throws {
        let names = ["corrupt-1", "corrupt-1-wal", "foreign-1", "backup"].map { "beekon.db." + $0 }
        for name in names { try workshop.directory.write(name, [1]) }
        _ = try workshop.delete()
        #expect(try workshop.directory.names().filter(names.contains) == ["beekon.db.backup"])
    }

    @Test("events that came after the request stay, over a restart, too", arguments: [false, true])
    func laterEvents(isRestarted: Bool) throws {
        try workshop.insertEvent(200)
        var deletion = try workshop.store.beginDeletion(before: nil)
        if isRestarted {
            try workshop.reopen()
            deletion = try #require(try workshop.store.unfinishedDeletion())
        }
        let later = try workshop.insertEvent(150)
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(try workshop.events().map(\.id) == [later])
    }

    @Test("rows that came after the request stay, though a step deletes others of later times")
    func laterRows() throws {
        _ = try workshop.insert(1000...2200)
        var deletion = try workshop.store.beginDeletion(before: nil)
        let later = [try workshop.insert(1001.5), try workshop.insert(2100.5)]
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(try workshop.stored().map(\.id) == later)
    }

    @Test("so many are remembered and no more; each of them is completed at the next start")
    func limit() throws {
        // With that of everything: eight, none of which covers another.
        for number in 0..<7 { _ = try workshop.store.beginDeletion(before: time(106 - Double(number))) }
        let refusal = #expect(throws: StorageError.self) {
            try workshop.store.beginDeletion(before: time(90))
        }
        #expect(refusal?.message.contains("restart beekond") == true)
        try workshop.reopen()
        _ = try workshop.insert(80...82)
        var deletion = try #require(try workshop.store.unfinishedDeletion())
        #expect(deletion.bounds.count == 8)
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
        #expect(try workshop.stored().map(\.fix.time) == [80, 81, 82, 107, 108, 109, 110].map(time))
        try workshop.reopen()
        #expect(try workshop.store.unfinishedDeletion() == nil)
    }

    @Test("the session remembers a position only if it came later", arguments: [nil, 110, 109.5])
    func tail(cutoff: Double?) throws {
        // The one of before would erase every position.
        _ = try workshop.delete()
        var parked = location(110, id: uuid(9))
        parked.motion = .stationary
        _ = try workshop.store.insert(
            NewLocation(
                location: parked, session: uuid(1), sessionStartedAt: time(0), odometer: 77, extras: nil,
                prunesByAge: false, memory: Admission.Memory(motion: .stationary, spot: parked.fix.coordinate)
            ))
        _ = try workshop.delete(before: cutoff)
        for _ in 0..<2 {
            let tail = try #require(try workshop.store.enter(session: uuid(1), startedAt: time(0)))
            #expect((tail.reference == nil) == (cutoff != 109.5))
            #expect((tail.memory.spot == nil) == (cutoff != 109.5))
            #expect(tail.odometer == 77)
            // As long as it runs, and at the next start.
            try workshop.reopen()
        }
    }

    @Test("former sessions remember no position that was deleted", arguments: [nil, 110, 109.5])
    func formerSessions(cutoff: Double?) throws {
        _ = try workshop.delete()
        try workshop.insert(110)
        _ = try workshop.store.enter(session: uuid(2), startedAt: time(300))
        _ = try workshop.delete(before: cutoff)
        #expect(try workshop.count("sessions WHERE last_lat IS NOT NULL") == (cutoff == 109.5 ? 1 : 0))
    }
}
