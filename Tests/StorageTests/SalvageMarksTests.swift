import Base
import Glibc
import Linux
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// A damaged database, whose rows all read, as it is found at a start or while it is in use.
@Suite("what a salvage keeps besides rows")
struct SalvageMarksTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop(StoreOptions(destinations: .main))
    }

    private func execute(_ sql: String) throws {
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(sql)
    }

    /// - Returns: how many rows came back.
    @discardableResult
    private func damage(_ sql: String = "") throws -> Int {
        workshop.store.close()
        let db = try Connection(path: workshop.directory.file("beekon.db"), access: .damaged)
        try db.execute("PRAGMA query_only = OFF; CREATE TABLE alien (a);" + sql)
        try workshop.reopen()
        return try salvaged()
    }

    /// As if SQLite had found the damage, with the next operation.
    private func damageAtWork() {
        #expect(throws: StorageError.self) {
            try workshop.store.perform("test") { (_) throws(SQLiteError) in
                throw SQLiteError(operation: "test", code: .corrupt, message: "damaged")
            }
        }
    }

    private func salvaged() throws -> Int {
        for case .quarantined(_, _, let salvaged) in workshop.store.takeEvents() { return salvaged }
        throw SetUpFailed(operation: "nothing was moved aside", code: 0)
    }

    private var times: [Double] {
        get throws { try workshop.stored().map { $0.fix.time.seconds(since: time(0)) } }
    }

    private func finish(_ deletion: Deletion?) throws {
        var deletion = try #require(deletion)
        while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
    }

    @Test("a deletion that was interrupted: its rows do not come back, and it is completed")
    func interrupted() throws {
        _ = try workshop.insert(100...104)
        _ = try workshop.store.beginDeletion(before: nil)
        _ = try workshop.insert(1...3)
        #expect(try damage() == 3)
        #expect(try times == [1, 2, 3])
        _ = try workshop.insert(10...11)
        try finish(try workshop.store.unfinishedDeletion())
        #expect(try times == [1, 2, 3, 10, 11])
        #expect(try !workshop.directory.names().contains { $0.contains(".corrupt-") })
        #expect(try workshop.store.unfinishedDeletion() == nil)
    }

    @Test("one up to a time, of which nothing is left but the mark")
    func empty() throws {
        _ = try workshop.insert(1...5)
        _ = try workshop.store.beginDeletion(before: time(50))
        #expect(try damage() == 0)
        try workshop.reopen()
        _ = try workshop.insert(6...8)
        try finish(try workshop.store.unfinishedDeletion())
        #expect(try times == [6, 7, 8])
    }

    @Test(
        "one that is under way, whether or not its mark reads, or was lost with the WAL",
        arguments: ["", "DROP TABLE counters", "DELETE FROM counters WHERE name LIKE 'erasing%'"])
    func running(sql: String) throws {
        _ = try workshop.insert(100...104)
        let deletion = try workshop.store.beginDeletion(before: nil)
        _ = try workshop.insert(1...3)
        if !sql.isEmpty { try execute(sql) }
        damageAtWork()
        _ = try workshop.insert(10...11)
        try finish(deletion)
        #expect(try times == [1, 2, 3, 10, 11])
        try workshop.reopen()
        #expect(try workshop.store.unfinishedDeletion() == nil)
    }

    @Test("a doubt about ages")
    func ages() throws {
        let memory = AgeTrust.Memory(
            ran: 5000,
            lines: [
                AgeTrust.Line(origin: time(-9000), until: 4000),
                AgeTrust.Line(origin: time(90_000), until: 5000),
            ])
        _ = try workshop.store.insert(
            NewLocation(
                location: location(20, id: uuid(1)), session: uuid(2), sessionStartedAt: time(0), odometer: 0,
                extras: nil, prunesByAge: false, ages: memory))
        try damage()
        #expect(try workshop.store.ageMemory() == memory)
    }

    @Test("extras, whichever other table does not read", arguments: ["counters", "sessions", "batches"])
    func extras(table: String) throws {
        _ = try workshop.insert(1...3, extras: #"{"driver":"anna"}"#)
        let broken = "UPDATE sqlite_schema SET rootpage = 99999 WHERE name = '\(table)'"
        #expect(try damage(broken) == 3)
        #expect(try workshop.store.draftBatch(limit: 10)?.extras == #"{"driver":"anna"}"#)
    }

    @Test("extras that are no JSON are left out: every batch with them would be refused")
    func brokenExtras() throws {
        _ = try workshop.insert(1...3, extras: #"{"driver":"anna"}"#)
        #expect(try damage(#"UPDATE extras SET json = '{"driver":"an'"#) == 3)
        #expect(try workshop.store.draftBatch(limit: 10)?.extras == nil)
    }

    @Test("many rows, in pieces, with dead letters and several sessions: all once, in the order of time")
    func many() throws {
        let letters = try workshop.insert(1...4)
        _ = try workshop.store.reject(try workshop.freeze(), status: 422, at: time(9))
        let ids = try letters + workshop.insert(10...2600) + workshop.insert(3000...3300, session: 2)
        workshop.store.close()
        var cursor = Salvage.Cursor()
        do {
            var salvage = try Salvage(
                path: workshop.directory.file("beekon.db"), vfs: nil, progress: SalvageProgress(), erasing: []
            )
            while !cursor.isAtEnd {
                let count = salvage.next(&cursor).count
                #expect(count <= Salvage.step)
            }
            let isComplete = salvage.isComplete
            #expect(isComplete)
        }
        #expect(try damage() == ids.count)
        #expect(try workshop.stored().map(\.id) == ids)
        let sessions = try workshop.sessions()
        #expect(sessions.map(\.id) == [uuid(1), uuid(2)])
        #expect(sessions.map(\.locations) == [2595, 301])
        #expect(sessions.last?.distance == Double(ids.count))
    }

    @Test("damage in the middle is read around, and what lies behind it is the newest of its session")
    func middle() throws {
        let ids = try workshop.insert(1...3000)
        workshop.store.close()
        var bytes = try workshop.directory.read("beekon.db")
        // In the middle of the file: a leaf of the locations, which begins with this byte.
        let page = try #require(
            (bytes.count / 1024 / 2..<bytes.count / 1024).first { bytes[$0 * 1024] == 0x0A })
        for offset in page * 1024..<(page + 1) * 1024 { bytes[offset] = 0xAA }
        try workshop.directory.write("beekon.db", bytes)
        try workshop.reopen()
        let found = try workshop.stored().map(\.id)
        #expect(try salvaged() == found.count)
        #expect((2900..<3000).contains(found.count))
        #expect(found.first == ids.first && found.last == ids.last)
        #expect(found == ids.filter(Set(found).contains))
        #expect(try workshop.sessions().last?.distance == 3000)
    }

    @Test("a frozen batch keeps its id and its bytes, and an answer that comes now is for it")
    func batch() throws {
        let ids = try workshop.insert(1...5)
        let batch = try workshop.freeze(limit: 3)
        damageAtWork()
        _ = try workshop.insert(20...22)
        let again = try #require(try workshop.store.nextFrozen())
        #expect(
            again.id == batch.id && again.request.body == batch.request.body && again.ids == Array(ids[..<3]))
        #expect(try workshop.store.beginAttempt(batch))
        #expect(try workshop.store.acknowledge(batch) == 3)
        #expect(try times == [4, 5, 20, 21, 22])
        #expect(try workshop.store.nextFrozen() == nil)
        #expect(try workshop.freeze().ids.count == 5)
    }

    @Test("an answer to a batch that has not come back is for no row of the next database")
    func lostBatch() throws {
        _ = try workshop.insert(1...5)
        let batch = try workshop.freeze(limit: 5)
        try execute("DELETE FROM batches")
        damageAtWork()
        _ = try workshop.insert(2...3)
        #expect(try workshop.store.acknowledge(batch) == 0)
        #expect(workshop.store.counts().pending == 7)
    }

    @Test("numbers at the end of their range stop nobody", arguments: [Int64.max, .min])
    func numbers(number: Int64) throws {
        _ = try workshop.insert(1...5)
        _ = try workshop.freeze(limit: 3)
        workshop.store.close()
        try execute(
            """
            UPDATE locations SET seq = \(number), uploaded = ts % 3 WHERE ts > \(start + 3000);
            UPDATE sessions SET first_seq = \(number), last_seq = \(~number);
            INSERT INTO sessions (key, id, started_at, first_seq, last_seq) VALUES (\(number), zeroblob(16), 0, 0, 0);
            INSERT INTO extras (version, json) VALUES (\(number), '{}');
            UPDATE batches SET last_seq = \(number), events = '\(number) \(number)';
            INSERT INTO events (ts, seq, session, id, subject, kind, extras, uploaded)
                VALUES (\(number), \(number), 1, zeroblob(16), 'a', 0, 0, \(number));
            INSERT OR REPLACE INTO counters VALUES ('erasing_2', 1),
                ('dropped_unsent', \(number)), ('consecutive_rejections', \(number)), ('oversized_count', \(number)),
                ('age_ran', \(number)), ('age_line_0', \(number)), ('age_line_0_until', \(number));
            """)
        workshop.options.keepsUploaded = true
        for _ in 0..<2 {
            try workshop.reopen()
            workshop.options.maxRows = 3
            for second in 10...20 {
                try workshop.insert(
                    Double(second), session: second / 7, extras: "{\"n\":\(second)}", prunesByAge: true)
            }
            if let batch = try workshop.store.nextFrozen() {
                _ = try workshop.store.reject(batch, status: 422, at: time(9))
            }
            _ = try workshop.sessions()
            _ = try workshop.store.ageMemory()
            workshop.options.maxRows = 100
            try damage()
        }
        #expect(try workshop.stored().last?.fix.time == time(20))
    }

    @Test("what was lost is told, even when the operation fails after its COMMIT")
    func losses() {
        #expect(throws: StorageError.self) {
            try workshop.store.perform("test") { (writer) throws(SQLiteError) in
                try writer.count(refused: 3)
                throw SQLiteError(operation: "test", code: .ioError, message: "after the COMMIT")
            }
        }
        #expect(workshop.store.takeLosses().refused == 3)
        #expect(workshop.store.takeLosses() == Losses())
    }
}
