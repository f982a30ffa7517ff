import Base
import Glibc
import Linux
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

/// A WAL whose header is damaged: SQLite takes it for empty, and writes over it or deletes it.
@Suite struct LogHeaderTests {
    /// Open while the folder is copied, as after SIGKILL.
    private func image(rows: Range<Int>) throws -> Folder {
        let source = try Folder()
        try store(source, 1..<10).close()
        let store = try store(source, rows)
        defer { store.close() }
        let image = try Folder()
        for (name, bytes) in try source.contents() where ["beekon.db", "beekon.db-wal"].contains(name) {
            try image.write(name, bytes)
        }
        return image
    }

    private func store(_ folder: Folder, _ fixes: Range<Int>) throws -> Store {
        let store = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        for number in fixes {
            var random = SeededGenerator(seed: UInt64(number))
            var ids = UUIDv7Generator(using: &random)
            let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(number) * 1000)
            let id = ids.next(at: time)
            _ = try store.insert(NewLocation(at: time, id: id, session: id, odometer: 1))
        }
        return store
    }

    private func copies(_ folder: Folder) throws -> [String] {
        try folder.names.filter { $0.hasPrefix("beekon.db.corrupt-") }
    }

    @Test(
        "a copy is kept and told of, once, beside a sound database and beside none", arguments: [0, 7, 31],
        [false, true])
    func damaged(byte: Int, isOrphan: Bool) throws {
        let folder = try image(rows: 10..<40)
        var log = try folder.read("beekon.db-wal")
        log[byte] ^= 0x40
        try folder.write("beekon.db-wal", log)
        if isOrphan { unlink(folder.database) }
        let opened = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        guard case .logDamaged(let name) = opened.takeEvents().first else {
            Issue.record("nothing was told")
            return
        }
        #expect(try copies(folder).map { folder.path + "/" + $0 } == [name])
        #expect(try folder.read(String(name.dropFirst(folder.path.count + 1))) == log)
        #expect(opened.counts().pending == (isOrphan ? 0 : 9))
        opened.close()
        guard !isOrphan else { return }
        // As after SIGKILL before anything was written.
        try folder.write("beekon.db-wal", log)
        let again = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        #expect(again.takeEvents() == [])
        again.close()
    }

    @Test(
        "it is moved where it cannot be copied, and the database is opened all the same",
        arguments: [false, true])
    func noCopy(isOrphan: Bool) throws {
        let folder = try image(rows: 10..<40)
        var log = try folder.read("beekon.db-wal")
        log[7] ^= 0x40
        try folder.write("beekon.db-wal", log)
        if isOrphan { unlink(folder.database) }
        // In the way of the copy, as a full disk would be.
        #expect(mkdir(folder.database + "-wal.tmp", 0o700) == 0)
        let opened = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        defer { opened.close() }
        guard case .logDamaged(let name) = opened.takeEvents().first else {
            Issue.record("nothing was told")
            return
        }
        #expect(try folder.read(String(name.dropFirst(folder.path.count + 1))) == log)
        #expect(opened.counts().pending == (isOrphan ? 0 : 9))
    }

    @Test("a header of zeros is damaged, a file of zeros is not, nor is a header alone")
    func zeros() throws {
        for (isAll, isHeader, isTold) in [(false, false, true), (true, false, false), (false, true, false)] {
            let folder = try image(rows: 10..<40)
            let log = try folder.read("beekon.db-wal")
            let zeros = [UInt8](repeating: 0, count: isAll ? log.count : 32)
            try folder.write("beekon.db-wal", zeros + (isAll || isHeader ? [] : log.dropFirst(32)))
            let opened = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
            #expect(opened.takeEvents().isEmpty != isTold)
            #expect(try copies(folder).count == (isTold ? 1 : 0))
            opened.close()
        }
    }

    @Test("the newest two copies are kept, and go with a deletion of everything")
    func bounded() throws {
        let folder = try image(rows: 10..<40)
        let log = try folder.read("beekon.db-wal")
        var names: [String] = []
        for number in 1..<5 {
            var damaged = log
            damaged[3] = UInt8(number)
            try folder.write("beekon.db-wal", damaged)
            let opened = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
            let events = opened.takeEvents()
            guard case .logDamaged(let name) = events.first else {
                Issue.record("nothing was told")
                return
            }
            names.append(name)
            #expect(events.dropFirst() == (number > 2 ? [.removed(name: names[number - 3])] : []))
            opened.close()
            // Of different seconds, as at most times.
            for index in names.indices where names[index].contains("corrupt-1") && index == names.count - 1 {
                let older = folder.path + "/beekon.db.corrupt-100000000\(number)-wal"
                #expect(rename(names[index], older) == 0)
                names[index] = older
            }
        }
        #expect(try copies(folder).count == 2)
        try Quarantine(SystemFiles()).removeAside(of: folder.database)
        #expect(try copies(folder).isEmpty)
    }

    @Test("whether another machine was tracking is asked of its database without deleting an orphaned WAL")
    func asking() throws {
        let folder = try image(rows: 10..<40)
        let log = try folder.read("beekon.db-wal")
        try folder.write("beekon.db", [])
        #expect(!DatabaseFiles(in: folder.path).wasTracking(in: "beekon.db"))
        #expect(DatabaseFiles(in: folder.path).account(of: "beekon.db").contains("cannot be read"))
        #expect(try folder.read("beekon.db-wal") == log)
        unlink(folder.database)
        #expect(try DatabaseFiles(in: folder.path).moveAside(as: "beekon.db.foreign-1"))
        #expect(try folder.read("beekon.db.foreign-1-wal") == log)
    }

    @Test("a database that is not open is counted with what is in its WAL")
    func account() throws {
        let folder = try image(rows: 10..<40)
        let text = DatabaseFiles(in: folder.path).account(of: "beekon.db")
        #expect(text == "it holds 39 locations, 39 of them not uploaded")
        #expect(!DatabaseFiles(in: folder.path).isMissing)
    }
}
