import FoundationEssentials
import SQLite
import Support
import Testing

@testable import Storage

/// What a power cut leaves in the midst of a migration: the earlier version or the later, with every row, and a database
/// that the real code brings to the present version at the next start. BEEKOND_LONG=1 cuts the power after every event.
@Suite struct MigrationImageTests {
    /// Longer than any real one: it touches every row of the large table, and empties another.
    private static let heavyStep = """
        ALTER TABLE locations ADD COLUMN later INTEGER; UPDATE locations SET later = seq;
        CREATE TABLE later (a INTEGER PRIMARY KEY, b BLOB) STRICT;
        INSERT INTO later SELECT seq, zeroblob(500) FROM locations; DELETE FROM extras;
        """

    private static let storedSchemas: [String?] = {
        let tests = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined()
        let folder = tests + "/StorageTests/Schemas"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // nil: the first version comes from nothing.
        return [nil] + names.filter { $0.hasSuffix(".db") }.sorted().map { folder + "/" + $0 }
    }()

    @Test("real steps", arguments: storedSchemas)
    func presentVersion(stored: String?) throws {
        try everyImage(of: stored, steps: Schema.migrations)
    }

    @Test("a step that changes everything", arguments: storedSchemas)
    func heavyStep(stored: String?) throws {
        try everyImage(of: stored, steps: Schema.migrations + [Self.heavyStep])
    }

    private func everyImage(of stored: String?, steps: [String]) throws {
        let bytes = try stored.map { [UInt8](try Data(contentsOf: URL(filePath: $0))) } ?? []
        let (first, before) = try look(at: bytes)
        let recorded = try Folder()
        let recording = try #require(Recording(directory: recorded.path))
        try migrate(recorded, from: bytes, steps)
        let events = recording.events()
        var left: [Int64: Int] = [:]
        var disk = Disk(holding: bytes.isEmpty ? [:] : ["beekon.db": bytes])
        let folder = try Folder()
        let cuts = Effort.places(of: events.count, atMost: 25)
        let models = try models(of: steps)
        for (index, event) in events.enumerated() {
            disk.apply(event)
            guard cuts.contains(index) else { continue }
            for loss in losses(at: index, of: events.count) {
                let context = "BEEKOND_SEED=\(Effort.seed), event \(index) of \(events.count), loss \(loss)"
                var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
                try folder.clear()
                for (name, content) in disk.image(after: loss, using: &random) {
                    try folder.write(name, content.bytes)
                }
                let version = try versionLeft(in: folder, models)
                left[version, default: 0] += 1
                try #require(version == first || version == steps.count, "\(context)")
                if version <= Schema.version {
                    let store = try Store(directory: folder.path, options: StoreOptions(destinations: .main))
                    try #require(store.takeEvents() == [], "\(context)")
                }
                let db = try Connection(path: folder.database, access: .readOnly)
                try #require(try db.value("PRAGMA integrity_check") == "ok", "\(context)")
                try #require(try Contents.text(db) == before, "\(context)")
                // Every column of today and no other, whichever version had been left.
                if version <= Schema.version {
                    try #require(try Schema.isOurs(db, version: Schema.version), "\(context)")
                }
            }
        }
        let name = stored.map { String($0.split(separator: "/").last ?? "") } ?? "nothing"
        print("migration of \(name) to \(steps.count): \(events.count) events, versions left: \(left)")
        #expect(left.keys.contains(Int64(steps.count)))
    }

    private func look(at bytes: [UInt8]) throws -> (version: Int64, text: String) {
        if bytes.isEmpty { return (0, "") }
        let folder = try Folder()
        try folder.write("beekon.db", bytes)
        let db = try Connection(path: folder.database, access: .readOnly)
        return (try Schema.foundVersion(db), try Contents.text(db))
    }

    /// As `Writer.open` does it, with the WAL folded in at the end.
    private func migrate(_ folder: Folder, from bytes: [UInt8], _ steps: [String]) throws {
        if !bytes.isEmpty { try folder.write("beekon.db", bytes) }
        let db = try Connection(path: folder.database, access: .readWrite)
        try db.execute("PRAGMA page_size = \(Schema.pageSize)")
        _ = try db.value("PRAGMA journal_mode = WAL")
        try db.execute("PRAGMA synchronous = FULL")
        try Schema.migrate(db, steps: steps)
    }

    /// After the last event each of them, after others one that the commit decides.
    private func losses(at index: Int, of count: Int) -> [PowerLoss] {
        if Effort.isLong || index == count - 1 { return PowerLoss.allCases }
        var random = SeededGenerator(seed: Effort.seed &+ UInt64(index))
        return [PowerLoss.allCases.randomElement(using: &random) ?? .any]
    }

    /// The columns after so many steps, from none to all.
    private func models(of steps: [String]) throws -> [String?] {
        let model = try Connection(path: ":memory:", access: .readWrite)
        return try [model.value(Schema.columnList)]
            + steps.map { step in
                try model.execute(step)
                return try model.value(Schema.columnList)
            }
    }

    /// The version that the image says it has; its tables must be those of that version.
    private func versionLeft(in folder: Folder, _ models: [String?]) throws -> Int64 {
        let db = try Connection(path: folder.database, access: .readWrite)
        db.leaveLogOnClose()
        let version = try Schema.foundVersion(db)
        try #require(models.indices.contains(Int(version)))
        try #require(try db.value(Schema.columnList) == models[Int(version)])
        return version
    }
}
