import Base
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

/// Blocks of 4 KiB, as flash loses them, at random places of a database of three destinations. Whatever lies on a page that
/// is whole must come back. BEEKOND_SEED repeats a failure.
@Suite("a database with several damaged places")
struct DamagedPagesTests {
    static let blockSize = 4096
    private static let names: [DestinationName] = [.main, .fleet, .home]

    /// What the database held.
    private struct Original: Sendable {
        var bytes: [UInt8]
        var map: PageMap
        var batches: [DestinationName: FrozenBatch]
    }

    private static func ids(_ table: String, _ workshop: Workshop) throws -> Set<[UInt8]> {
        let db = try Connection(path: workshop.directory.file("beekon.db"), access: .readOnly)
        let rows = try db.prepare("SELECT id FROM \(table)")
        var found: Set<[UInt8]> = []
        while try rows.step() { found.insert(rows.blob(0)) }
        return found
    }

    /// Made once.
    private static let original = Result { try make() }

    /// Rows of every kind, for three destinations; most of the file are locations.
    private static func make() throws -> Original {
        let workshop = try Workshop(StoreOptions(destinations: .named(.main, .fleet, .home)))
        for (index, name) in names.enumerated() {
            try workshop.store.adopt(endpoint: 5, format: Int64(index), of: name)
        }
        for session in 1...4 {
            let first = session * 1000
            for second in first..<first + 500 {
                try workshop.insert(Double(second), session: session, extras: "{\"leg\":\(session)}")
                if second % 20 == 0 { _ = try workshop.insertEvent(Double(second) + 0.5, session: session) }
            }
        }
        for _ in 0..<2 { try workshop.reject(.fleet, limit: 30) }
        _ = try workshop.store.acknowledge(try #require(try workshop.freezeNext(for: .main, limit: 40)))
        var batches: [DestinationName: FrozenBatch] = [:]
        for name in names { batches[name] = try workshop.freezeNext(for: name, limit: 100) }
        let ids = try Dictionary(
            uniqueKeysWithValues: ["locations", "events", "rejected", "rejected_events"].map {
                ($0, try Self.ids($0, workshop))
            })
        workshop.store.close()
        let bytes = try workshop.directory.read("beekon.db")
        let map = try PageMap(bytes, database: workshop.directory.file("beekon.db"), ids: ids)
        for (table, ids) in ids { try #require(map.sound(table, besides: []) == ids, "\(table)") }
        return Original(bytes: bytes, map: map, batches: batches)
    }

    /// - Returns: the numbers of the pages that were hit.
    private func damage(
        _ bytes: inout [UInt8], blocks: [Int], pageSize: Int, using random: inout SeededGenerator
    ) -> Set<Int> {
        var hit: Set<Int> = []
        for (index, block) in blocks.enumerated() {
            let range = block * Self.blockSize..<min((block + 1) * Self.blockSize, bytes.count)
            for offset in range {
                bytes[offset] = index % 2 == 0 ? UInt8(truncatingIfNeeded: random.next()) : 0
                hit.insert(offset / pageSize + 1)
            }
        }
        return hit
    }

    private func check(_ original: Original, blocks: [Int], using random: inout SeededGenerator) throws {
        let context = "blocks \(blocks)"
        var bytes = original.bytes
        let map = original.map
        let hit = damage(&bytes, blocks: blocks, pageSize: map.pageSize, using: &random)
        let workshop = try Workshop(
            StoreOptions(destinations: .named(.main, .fleet, .home)), database: bytes)
        defer { workshop.store.close() }
        try workshop.store.checkLedger()
        let found = try Self.ids("locations", workshop).union(Self.ids("events", workshop))
        let all = map.pages.values.reduce(into: Set<[UInt8]>()) { $0.formUnion($1.keys) }
        #expect(found.isSubset(of: all), "\(context)")
        for table in ["locations", "events", "rejected", "rejected_events"] {
            let missing = map.sound(table, besides: hit).subtracting(found).count
            #expect(missing == 0, "of \(table), \(context)")
        }
        #expect(try workshop.count("locations") == Self.ids("locations", workshop).count, "\(context)")
        let state = ["batches", "sessions", "extras", "counters", "debts", "destinations"]
        guard state.allSatisfy({ map.isSound($0, besides: hit) }) else { return }
        let sound = map.sound("locations", besides: hit).union(map.sound("events", besides: hit))
        for (index, name) in Self.names.enumerated() {
            guard let batch = original.batches[name], batch.ids.allSatisfy({ sound.contains($0.bytes) })
            else { continue }
            try workshop.store.adopt(endpoint: 5, format: Int64(index), of: name)
            let next = try workshop.store.nextFrozen(for: name)
            #expect(next?.id == batch.id && next?.request == batch.request, "\(name), \(context)")
        }
    }

    @Test("what lies on whole pages comes back", arguments: [3, 4, 6, 9])
    func blocks(count: Int) throws {
        let original = try Self.original.get()
        let last = (original.bytes.count - 1) / Self.blockSize
        for round in sampled(Array(0..<6 as Range<UInt64>), 2) {
            var random = SeededGenerator(seed: testSeed(1) &+ UInt64(count) << 32 &+ round << 16)
            var blocks: Set<Int> = []
            while blocks.count < count { blocks.insert(Int.random(in: 1...last, using: &random)) }
            try check(original, blocks: blocks.sorted(), using: &random)
        }
    }

    @Test("also without the first block, which says where everything is", arguments: [1, 3])
    func first(count: Int) throws {
        let original = try Self.original.get()
        var random = SeededGenerator(seed: UInt64(count))
        let last = (original.bytes.count - 1) / Self.blockSize
        for isZero in [true, false] {
            var blocks: Set<Int> = [0]
            while blocks.count < count { blocks.insert(Int.random(in: 1...last, using: &random)) }
            // The first of them is made random, the second zero.
            let order = isZero ? blocks.sorted(by: >) : blocks.sorted()
            try check(original, blocks: order, using: &random)
        }
    }

    @Test("a large one tells the size of its pages by itself", arguments: [1024, 4096])
    func size(pageSize: Int) throws {
        let source = try Workshop()
        try source.insert(1)
        source.store.close()
        let path = source.directory.file("beekon.db")
        do {
            let db = try Connection(path: path, access: .readWrite)
            let others = try source.lines("SELECT name FROM pragma_table_info('locations')")
                .filter { !["ts", "seq", "id"].contains($0) }.map { "\"\($0)\"" }.joined(separator: ", ")
            try db.execute(
                """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
                INSERT INTO locations (ts, seq, id, \(others)) SELECT ts + i * 1000, seq + i, randomblob(16), \(others)
                FROM n, (SELECT * FROM locations LIMIT 1);
                PRAGMA journal_mode = DELETE; PRAGMA page_size = \(pageSize); VACUUM
                """)
        }
        var bytes = try source.directory.read("beekon.db")
        var random = SeededGenerator(seed: 4)
        _ = damage(&bytes, blocks: [0], pageSize: pageSize, using: &random)
        try source.directory.write("beekon.db", bytes)
        let file = try DamagedFile(database: path, usual: 1024)
        #expect(file.pageSize == pageSize && file.header == nil && bytes.count > 1_500_000)
    }

    @Test("whatever single block is lost")
    func each() throws {
        let original = try Self.original.get()
        var random = SeededGenerator(seed: 9)
        let last = (original.bytes.count - 1) / Self.blockSize
        for block in sampled(Array(0...last), 8) {
            try check(original, blocks: [block], using: &random)
        }
    }

    @Test("pages that stand in the WAL are whole, whatever the database looks like")
    func log() throws {
        let source = try Workshop()
        let ids = try source.insert(1...300)
        let event = try source.insertEvent(301)
        let copy = try TemporaryDirectory()
        var bytes = try source.directory.read("beekon.db")
        var random = SeededGenerator(seed: 3)
        // The file is as long as its last checkpoint has left it.
        _ = damage(
            &bytes, blocks: Array(0...(bytes.count - 1) / Self.blockSize), pageSize: 1024, using: &random)
        try copy.write("beekon.db", bytes)
        try copy.write("beekon.db-wal", try source.directory.read("beekon.db-wal"))
        try Connection(path: copy.file("beekon.db"), access: .readWrite).leaveLogOnClose()
        let workshop = try Workshop(in: copy)
        #expect(try workshop.stored().map(\.id) == ids)
        #expect(try workshop.events().map(\.id) == [event])
    }

    @Test("rows that were deleted, and whose pages are free, stay gone")
    func free() throws {
        let source = try Workshop()
        _ = try source.insert(1...600)
        while source.store.counts().pending > 0 {
            _ = try source.store.acknowledge(try source.freeze(limit: 100))
        }
        let ids = try source.insert(700...900)
        source.store.close()
        var bytes = try source.directory.read("beekon.db")
        let map = try PageMap(
            bytes, database: source.directory.file("beekon.db"), ids: ["locations": Set(ids.map(\.bytes))])
        let root = try #require(
            Int(try source.query("SELECT rootpage FROM sqlite_schema WHERE name = 'locations'") ?? ""))
        bytes.replaceSubrange((root - 1) * 1024..<root * 1024, with: [UInt8](repeating: 0, count: 1024))
        let workshop = try Workshop(database: bytes)
        let found = try workshop.stored().map(\.id)
        #expect(Set(found.map(\.bytes)) == map.sound("locations", besides: [root]))
        #expect(found.count > 100 && workshop.store.counts().pending == found.count)
    }
}
