import Glibc
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("databases that were moved aside")
struct SalvageTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    @Test("those of which nothing could be read are all kept")
    func unreadable() throws {
        let garbage = Array("no database".utf8)
        for _ in 0..<4 {
            try directory.write("beekon.db", garbage)
            let store = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
            store.close()
        }
        let kept = try directory.names().filter { $0.contains(".corrupt-") }
        #expect(kept.count { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") } == 4)
        #expect(!kept.contains { $0.hasSuffix(".salvaged") })
    }

    @Test("dead letters come back as pending rows; of the spent files, the oldest is deleted and told")
    func deadLetters() throws {
        var workshop = try Workshop(in: directory)
        let ids = try workshop.insert(1...4)
        _ = try workshop.store.reject(try workshop.freeze(), status: 422, at: time(9))
        var removed = 0
        for _ in 0..<4 {
            workshop.store.close()
            try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
                "CREATE TABLE alien (a)")
            workshop = try Workshop(in: directory)
            let events = workshop.store.takeEvents()
            guard case .quarantined(let name, _, let salvaged) = events.first else {
                Issue.record("nothing was moved aside")
                return
            }
            #expect(name.hasSuffix(".salvaged"))
            #expect(salvaged == 4)
            removed += events.count - 1
            #expect(try workshop.stored().map(\.id) == ids)
            #expect(workshop.store.counts().pending == 4)
        }
        #expect(removed == 2)
    }

    /// Four locations, two of them dead letters, and an event; then what `sql` does, and a table that is not ours.
    private func spoil(_ sql: String, _ options: StoreOptions = StoreOptions(destinations: .main)) throws {
        let workshop = try Workshop(options, in: directory)
        _ = try workshop.insert(1...4)
        _ = try workshop.store.reject(try workshop.freeze(limit: 2), status: 422, at: time(9))
        try workshop.insertEvent(5)
        workshop.store.close()
        try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
            sql + "; CREATE TABLE alien (a)")
    }

    private func names() throws -> [String] {
        try directory.names().filter {
            $0.contains(".corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm")
        }
    }

    @Test(
        "a file of which not all was read or understood keeps its name, so that it is never deleted",
        arguments: [
            ("", 5, true),
            ("UPDATE locations SET id = x'00' WHERE seq = (SELECT max(seq) FROM locations)", 4, false),
            ("UPDATE rejected SET id = x'00' WHERE seq = (SELECT max(seq) FROM rejected)", 4, false),
            ("UPDATE events SET id = x'00'", 4, false),
            // Two rows for one place: they are told apart by their ids.
            (
                """
                UPDATE rejected SET ts = (SELECT min(ts) FROM locations), \
                seq = (SELECT min(seq) FROM locations) WHERE seq = (SELECT min(seq) FROM rejected)
                """, 5, true
            ),
            // No row refers to it.
            ("DROP TABLE extras", 5, true), ("DROP TABLE rejected_events", 5, false),
            ("DROP TABLE events", 4, false),
            // SQLite does not find it, but it is where it was.
            ("ALTER TABLE locations RENAME COLUMN uploaded TO sent", 5, false),
            ("ALTER TABLE events RENAME COLUMN uploaded TO sent", 4, false),
        ] as [(String, Int, Bool)])
    func notWhole(sql: String, readable: Int, isWhole: Bool) throws {
        try spoil(sql)
        let workshop = try Workshop(in: directory)
        guard case .quarantined(let name, _, let salvaged) = workshop.store.takeEvents().first else {
            Issue.record("nothing was moved aside")
            return
        }
        #expect(salvaged == readable)
        #expect(name.hasSuffix(".salvaged") == isWhole)
        #expect(try names().map { $0.hasSuffix(".salvaged") } == [isWhole])
    }

    @Test("one whose name cannot be changed is not read again: what has been sent since does not come back")
    func stuckName() throws {
        try spoil("")
        let aside = directory.file("beekon.db.corrupt-1")
        #expect(rename(directory.file("beekon.db"), aside + ".unread") == 0)
        // In the way of its last name.
        #expect(mkdir(aside + ".salvaged", 0o700) == 0)
        let workshop = try Workshop(in: directory)
        #expect(workshop.store.counts().pending == 5)
        while workshop.store.counts().pending > 0 {
            _ = try workshop.store.acknowledge(try workshop.freeze())
        }
        try workshop.reopen()
        #expect(workshop.store.counts().pending == 0)
        guard case .quarantined(_, _, let salvaged) = workshop.store.takeEvents().last else {
            Issue.record("nothing was told")
            return
        }
        #expect(salvaged == 0)
    }

    @Test("a long salvage says that it goes on, at least once for each piece")
    func progress() throws {
        var workshop = try Workshop(in: directory)
        _ = try workshop.insert(1...2500)
        workshop.store.close()
        try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
            "CREATE TABLE alien (a)")
        workshop = try Workshop(in: directory)
        #expect(workshop.store.counts().pending == 2500)
        #expect(workshop.store.salvage.pieces >= 2500 / Salvage.step)
    }

    @Test("losses that were counted stay counted, once, and are not told again")
    func losses() throws {
        let options = StoreOptions(maxRows: 3, destinations: .main)
        var workshop = try Workshop(options, in: directory)
        _ = try workshop.insert(1...5)
        try workshop.store.count(refused: 7)
        #expect(workshop.store.counts().losses == Losses(dropped: 2, refused: 7))
        for _ in 0..<2 {
            workshop.store.close()
            try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
                """
                INSERT OR REPLACE INTO counters VALUES ('pruned', -9), ('expired', 9223372036854775807);
                CREATE TABLE alien (a)
                """)
            workshop = try Workshop(options, in: directory)
            #expect(!workshop.store.takeEvents().isEmpty, "it was moved aside")
            #expect(
                workshop.store.counts().losses == Losses(dropped: 2, expired: 1 << 52, refused: 7),
                "numbers that damage has made are bounded")
            #expect(workshop.store.takeLosses() == Losses())
        }
    }
}
