import Base
import Glibc
import SQLite
import Support
import Testing

@testable import Storage

/// A WAL whose database is missing or empty: SQLite would delete it, with all that was committed to it.
@Suite struct OrphanTests {
    private enum Loss: CaseIterable { case missing, empty }

    private func store(_ folder: Folder, _ fixes: Range<Int>) throws -> Store {
        let store = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        try insert(store, fixes)
        return store
    }

    private func insert(_ store: Store, _ fixes: Range<Int>) throws {
        for number in fixes {
            let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(number) * 1000)
            _ = try store.insert(NewLocation(at: time, id: id(number), session: id(0), odometer: 1))
        }
    }

    private func id(_ number: Int) -> UUIDv7 {
        var random = SeededGenerator(seed: UInt64(number))
        var ids = UUIDv7Generator(using: &random)
        return ids.next(at: Timestamp(milliseconds: 1_700_000_000_000))
    }

    /// What SIGKILL leaves, without the database itself.
    private func orphan(_ source: Folder, _ loss: Loss) throws -> Folder {
        let left = try Folder()
        for (name, bytes) in try source.contents()
        where name.hasPrefix("beekon.db") && !name.hasSuffix("-shm") {
            try left.write(name, name == "beekon.db" ? [] : bytes)
        }
        if loss == .missing { unlink(left.database) }
        return left
    }

    @Test("a WAL that holds all of the database is recovered, with every row", arguments: Loss.allCases)
    private func whole(loss: Loss) throws {
        let source = try Folder()
        let first = try store(source, 1..<200)
        let folder = try orphan(source, loss)
        first.close()
        let opened = try store(folder, 200..<201)
        #expect(opened.takeEvents() == [])
        #expect(opened.counts().pending == 200)
        opened.close()
        let db = try Connection(path: folder.database, access: .readOnly)
        #expect(try db.value("PRAGMA integrity_check") == "ok")
        #expect(try db.value("SELECT COUNT(DISTINCT id) FROM locations") == "200")
    }

    @Test("one that holds only a part is kept, for good", arguments: Loss.allCases)
    private func part(loss: Loss) throws {
        let source = try Folder()
        try store(source, 1..<400).close()
        let again = try store(source, 400..<500)
        let folder = try orphan(source, loss)
        let log = try folder.read("beekon.db-wal")
        again.close()
        let opened = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        guard case .quarantined(let name, let reason, let salvaged) = opened.takeEvents().first else {
            Issue.record("nothing was moved aside")
            return
        }
        #expect(reason.contains("WAL"))
        #expect(salvaged == 0 && !name.hasSuffix(".salvaged"))
        let kept = name.dropFirst(folder.path.count + 1) + "-wal"
        #expect(try folder.read(String(kept)) == log)
        try insert(opened, 600..<601)
        #expect(opened.counts().pending == salvaged + 1)
    }

    @Test("one in which nothing was committed is no database, and nothing is moved aside")
    func uncommitted() throws {
        let source = try Folder()
        let first = try store(source, 1..<3)
        let log = try source.read("beekon.db-wal")
        first.close()
        // The header alone; a frame that was cut off; a transaction whose last frame is missing; anything.
        for content in [
            Array(log.prefix(32)), Array(log.prefix(700)), Array(log.prefix(32 + 1048)), [1, 2, 3],
        ] {
            let folder = try Folder()
            try folder.write("beekon.db", [])
            try folder.write("beekon.db-wal", content)
            let opened = try store(folder, 1..<2)
            #expect(opened.takeEvents() == [])
            #expect(opened.counts().pending == 1)
        }
    }
}
