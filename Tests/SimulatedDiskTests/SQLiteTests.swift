import CRecordingVFS
import Foundation
import Linux
import SQLite
import SimulatedDisk
import Support
import Testing

/// SQLite on the simulated disk does what it does on any other.
@Suite struct SQLiteTests {
    private let disk = SimulatedDisk()

    private func read(_ path: String) throws -> [UInt8] {
        let file = try disk.open(path)
        var bytes = [UInt8](repeating: 0, count: try file.size())
        _ = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        return bytes
    }

    @Test("random statements make the same file as on a file system", arguments: ["WAL", "DELETE"])
    func sameBytes(journal: String) throws {
        let folder = try TemporaryDirectory(inMemory: true)
        let process = try Process(on: disk)
        do {
            try write(try Connection(path: folder.file("test.db"), access: .readWrite), journal)
            try write(try process.connect(), journal)
        }
        let bytes = try read(Process.database)
        #expect(try [UInt8](Data(contentsOf: URL(filePath: folder.file("test.db")))) == bytes)
        #expect(bytes.count > 100_000)
        #expect(try disk.names(in: "/d") == ["test.db"])
        #expect(process.vfs.openHandles == 0 && process.vfs.sharedMemories == 0)
    }

    private func write(_ db: Connection, _ journal: String) throws {
        _ = try db.value("PRAGMA journal_mode = \(journal)")
        try db.execute("PRAGMA synchronous = \(journal == "WAL" ? "FULL" : "OFF")")
        try db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c BLOB); CREATE INDEX i ON t (b)")
        var random = SeededGenerator(seed: sampleSeed())
        var isOpen = false
        for _ in 0..<(triesAll ? 10_000 : 4000) {
            let (a, b) = (Int.random(in: 0..<900, using: &random), Int.random(in: 0..<600, using: &random))
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<10: try db.execute("INSERT OR REPLACE INTO t VALUES (\(a), 'b\(b)', zeroblob(\(b)))")
            case 10..<13: try db.execute("UPDATE t SET b = b || 'x', c = zeroblob(\(a * 3)) WHERE a = \(a)")
            case 13..<16: try db.execute("DELETE FROM t WHERE b = 'b\(b)'")
            case 16: _ = try db.value("SELECT count(*) FROM t WHERE b > 'b\(b)'")
            case 17 where !isOpen && b < 100: try db.execute("VACUUM")
            default:
                try db.execute(isOpen ? b < 100 ? "ROLLBACK" : "COMMIT" : "BEGIN")
                isOpen.toggle()
            }
        }
        if isOpen { try db.execute("COMMIT") }
    }

    @Test("a reader keeps its snapshot, a second writer has to wait, a checkpoint waits in simulated time")
    func twoConnections() throws {
        var slept = 0
        let process = try Process(on: disk)
        let vfs = try SimulatedVFS(
            on: disk, .init(now: { 0 }, sleep: { slept += $0 }, random: { _ in }))
        disk.makeDirectory("/d")
        let writer = try Connection(path: Process.database, access: .readWrite, vfs: vfs.name)
        _ = try writer.value("PRAGMA journal_mode = WAL")
        try writer.execute("CREATE TABLE t (a)")
        let reader = try Connection(path: Process.database, access: .readOnly, vfs: vfs.name)
        try reader.execute("BEGIN")
        #expect(try reader.value("SELECT count(*) FROM t") == "0")
        try writer.execute("INSERT INTO t VALUES (1)")
        #expect(try reader.value("SELECT count(*) FROM t") == "0")
        #expect(try !writer.emptyLog(waitingForReaders: 3000))
        #expect((2_500_000...3_500_000).contains(slept))
        try reader.execute("COMMIT")
        #expect(try reader.value("SELECT count(*) FROM t") == "1")
        #expect(try writer.emptyLog(waitingForReaders: 3000))
        let other = try Connection(path: Process.database, access: .readWrite, vfs: vfs.name)
        try writer.execute("BEGIN IMMEDIATE")
        #expect(throws: SQLiteError.self) { try other.execute("BEGIN IMMEDIATE") }
        try writer.execute("COMMIT")
        try other.execute("INSERT INTO t VALUES (2)")
        #expect(try reader.value("SELECT count(*) FROM t") == "2")
        withExtendedLifetime(process) {}
    }

    @Test("the locks of a rollback journal keep writers apart, and readers from a writer that is waiting")
    func journalLocks() throws {
        let process = try Process(on: disk)
        let (one, two) = (try process.connect(), try process.connect())
        try one.execute("CREATE TABLE t (a)")
        try one.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
        #expect(throws: SQLiteError.self) { try two.execute("BEGIN IMMEDIATE") }
        try two.execute("BEGIN")
        #expect(try two.value("SELECT count(*) FROM t") == "0")
        #expect(throws: SQLiteError.self) { try one.execute("COMMIT") }
        let three = try process.connect()
        #expect(throws: SQLiteError.self) { try three.value("SELECT count(*) FROM t") }
        try two.execute("COMMIT")
        try one.execute("COMMIT")
        #expect(try three.value("SELECT count(*) FROM t") == "1")
    }

    @Test("a file that lost its name says so")
    func moved() throws {
        let process = try Process(on: disk)
        let db = try process.open()
        db.leaveLogOnClose()
        #expect(!db.hasMoved)
        try disk.rename(Process.database, to: "/d/aside")
        #expect(db.hasMoved)
        let other = try disk.open(Process.database, .create)
        #expect(db.hasMoved)
        try disk.rename("/d/aside", to: Process.database)
        #expect(!db.hasMoved)
        withExtendedLifetime(other) {}
    }

    @Test("an unwritable file is opened for reading, and what is missing is told")
    func opening() throws {
        let process = try Process(on: disk)
        let error = #expect(throws: SQLiteError.self) { try process.connect(.readOnly) }
        #expect(error?.code == .cannotOpen && error?.systemCode == 2)
        do { try process.run(3) }
        var isFirst = true
        disk.fault = {
            guard $0.kind == .open, isFirst else { return .goOn }
            isFirst = false
            return .fail(30)
        }
        #expect(try process.connect().isReadOnly)
    }

    @Test("nothing stays open or allocated, in a life and after a death")
    func leftovers() throws {
        let before = sqlite_memory_held()
        for number in [0, 60, 200, 500] {
            let disk = SimulatedDisk()
            let process = try Process(on: disk)
            disk.fault = { $0.number == number ? .die : .goOn }
            try? process.run(50)
            #expect(disk.isDeaf == (number > 0))
            #expect(disk.openHandles == 0)
            #expect(process.vfs.openHandles == 0 && process.vfs.sharedMemories == 0)
        }
        #expect(sqlite_memory_held() == before)
        let process = try Process(on: disk)
        let db = try process.open()
        #expect(sqlite_memory_held() > before)
        #expect(process.vfs.openHandles == 2 && process.vfs.sharedMemories == 1)
        withExtendedLifetime(db) {}
    }

    @Test("two simulated processes have names and memory of their own")
    func names() throws {
        let (one, two) = (try Process(on: SimulatedDisk()), try Process(on: disk))
        #expect(one.vfs.name != two.vfs.name)
        do { try one.run(3) }
        do { try two.run(4) }
        #expect(try Process.examine(one.disk) == 3)
        #expect(try Process.examine(two.disk) == 4)
    }
}
