import Base
import Glibc
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

/// A damaged database must never keep the daemon from starting: it is sound after all, or moved aside, or, when a later
/// version wrote it, refused and left alone. BEEKOND_LONG=1 tries all
/// that the corpus has, and flips more bits.
@Suite struct CorruptionTests {
    /// What opening a damaged database led to.
    private enum Outcome: String { case sound, quarantined, refused, quarantinedAtWork }

    @Test(arguments: [true, false])
    func everyMutationStarts(endsCleanly: Bool) throws {
        var random = SeededGenerator(seed: Effort.seed)
        let files = try makeDatabase(endsCleanly: endsCleanly)
        try #require((files["beekon.db-wal"] == nil) == endsCleanly)
        let all = Damage.corpus(for: files, using: &random)
        #expect(all.count >= 400)
        let corpus = Effort.places(of: all.count, atMost: 70).sorted().map { all[$0] }
        var outcomes: [Outcome: Int] = [:]
        var slowest = Duration.zero
        for damage in corpus {
            let folder = try Folder()
            for (name, bytes) in files { try folder.write(name, bytes) }
            try damage.apply(folder)
            do {
                let (outcome, duration) = try open(folder)
                outcomes[outcome, default: 0] += 1
                slowest = max(slowest, duration)
            } catch {
                Issue.record("\(damage.name): \(error) (BEEKOND_SEED=\(Effort.seed))")
            }
        }
        let summary = outcomes.map { "\($0.value) \($0.key.rawValue)" }.sorted().joined(separator: ", ")
        print("\(corpus.count) mutations, ended cleanly: \(endsCleanly): \(summary), slowest \(slowest)")
        #expect(corpus.count >= 70)
        #expect(slowest < .seconds(2))
    }

    /// A WAL that belongs to another database, or to an earlier life of this one.
    @Test func foreignLogs() throws {
        let own = try makeDatabase(endsCleanly: false, seed: 1)
        let other = try makeDatabase(endsCleanly: false, seed: 2)
        let clean = try makeDatabase(endsCleanly: true, seed: 1)
        for (database, log) in [(own, other), (clean, other), (clean, own), (other, own)] {
            let folder = try Folder()
            try folder.write("beekon.db", try #require(database["beekon.db"]))
            try folder.write("beekon.db-wal", try #require(log["beekon.db-wal"]))
            _ = try open(folder)
        }
    }

    @Test(arguments: ["WAL", "DELETE"], [true, false])
    func newerSchemaIsLeftAlone(journalMode: String, endsCleanly: Bool) throws {
        let folder = try Folder()
        for (name, bytes) in try makeDatabase(endsCleanly: true) { try folder.write(name, bytes) }
        let copy = try Folder()
        do {
            let db = try Connection(path: folder.database, access: .readWrite)
            try db.execute("PRAGMA user_version = \(Schema.version + 1)")
            _ = try db.value("PRAGMA journal_mode = \(journalMode)")
            try db.execute("CREATE TABLE later (a)")
            for (name, bytes) in try folder.contents() { try copy.write(name, bytes) }
        }
        let subject = endsCleanly ? folder : copy
        let before = try subject.contents().filter { !$0.key.hasSuffix("-shm") }
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) {
                try Store(directory: subject.path, options: StoreOptions())
            }
            #expect(error?.kind == .newerSchema)
            #expect(
                try subject.contents().filter { !$0.key.hasSuffix("-shm") && !$0.value.isEmpty } == before)
        }
    }

    /// Opens the store twice, uses it, and looks at what is there then.
    private func open(_ folder: Folder) throws -> (Outcome, Duration) {
        let begin = threadTime()
        let before = try? folder.read("beekon.db")
        let store: Store
        do throws(StorageError) {
            store = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        } catch {
            guard error.kind == .newerSchema, try folder.read("beekon.db") == before else { throw error }
            return (.refused, threadTime() - begin)
        }
        let duration = threadTime() - begin
        let isQuarantined = store.takeEvents().contains(where: isQuarantine)
        var random = SeededGenerator(seed: 3)
        var ids = UUIDv7Generator(using: &random)
        try use(store, &ids)
        let isQuarantinedNow = store.takeEvents().contains(where: isQuarantine)
        try look(folder)
        store.close()
        let again = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
        try use(again, &ids)
        guard again.takeEvents().isEmpty else { throw Unsound(what: "moved aside at the second start") }
        try look(folder)
        return (isQuarantined ? .quarantined : isQuarantinedNow ? .quarantinedAtWork : .sound, duration)
    }

    /// Other than a damaged WAL, of which a copy is kept.
    private func isQuarantine(_ event: Store.Event) -> Bool {
        if case .quarantined = event { true } else { false }
    }

    /// Writes and reads. Damage may come to light only now, each time once: then the next attempt must work.
    private func use(_ store: Store, _ ids: inout UUIDv7Generator) throws {
        let time = Timestamp(milliseconds: 1_700_000_001_000)
        let session = ids.next(at: time)
        let new = NewLocation(at: time, id: ids.next(at: time), session: session, odometer: 1)
        do throws(StorageError) { _ = try store.insert(new) } catch {
            guard error.kind == .corrupt else { throw error }
            _ = try store.insert(new)
        }
        _ = try store.latestLocation()
        _ = try store.draftBatch(limit: 100)
        _ = try store.nextFrozen()
    }

    private func look(_ folder: Folder) throws {
        let db = try Connection(path: folder.database, access: .readOnly)
        let integrity = try db.value("PRAGMA integrity_check") ?? "no answer"
        guard integrity == "ok" else { throw Unsound(what: integrity) }
        let history = try History(directory: folder.path)
        var cursor = LocationCursor(from: nil, to: nil)
        guard try !history.next(&cursor).isEmpty else { throw Unsound(what: "history is empty") }
    }

    private struct Unsound: Error { let what: String }

    /// The files of a database with some of everything; without a clean end half of it is in the WAL only.
    private func makeDatabase(endsCleanly: Bool, seed: UInt64 = 7) throws -> [String: [UInt8]] {
        let folder = try Folder()
        let recording = try #require(Recording(directory: folder.path))
        // So few rows are looked through at every start.
        let workload = try Workload(
            on: Ground(folder, recording), durability: .full, seed: seed, largeTable: StoredTallies.largeTable
        )
        try workload.run(operations: 150)
        // The last operation may have emptied the log, or folded it into the database.
        while try folder.contents()["beekon.db-wal"]?.isEmpty ?? true { try workload.run(operations: 1) }
        let files = try folder.contents().filter { !$0.key.hasSuffix("-shm") }
        workload.close()
        return endsCleanly ? try folder.contents() : files
    }
}
