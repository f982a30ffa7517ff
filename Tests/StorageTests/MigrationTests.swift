import Base
import FoundationEssentials
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// With BEEKOND_MAKE_SCHEMA=1 it stays.
@Test("a database of the present schema can be stored, and tells the same when it is read back")
func makeStoredSchema() throws {
    let temporary = try TemporaryDirectory()
    let isKept = ProcessInfo.processInfo.environment["BEEKOND_MAKE_SCHEMA"] == "1"
    let stored = try StoredSchema.make(in: isKept ? StoredSchema.released : temporary.path)
    let workshop = try Workshop(database: try stored.bytes())
    #expect(try StoredSchema.tell(workshop) == (try stored.story()))
}

@Test("every released schema is stored, and each step leads to the next version")
func everySchemaIsStored() {
    #expect(Schema.migrations.count == Int(Schema.version))
    let stored = StoredSchema.all.map(\.version)
    #expect(stored.starts(with: 1..<Schema.version) && stored.count <= Schema.version, "\(stored)")
}

@Test(
    "the text of a migration never changes",
    arguments: zip(
        Schema.migrations,
        [
            0x5ab9_40ea_5276_a128, 0xe3fa_ce83_be5a_273a, 0x6e90_4bff_6b11_15d9, 0xab21_528e_de31_358d,
        ] as [UInt64]))
func migrationText(step: String, expected: UInt64) {
    // FNV-1a, 64 bits.
    let hash = step.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    #expect(hash == expected, "add a migration instead")
}

@Test("a database of every released schema tells what it told that version", arguments: StoredSchema.all)
func storedSchemaOpens(stored: StoredSchema) throws {
    let workshop = try Workshop(database: try stored.bytes())
    #expect(try workshop.query("PRAGMA user_version") == "\(Schema.version)")
    #expect(try workshop.query("PRAGMA integrity_check") == "ok")
    #expect(try StoredSchema.tell(workshop) == (try stored.story()))
    #expect(try workshop.directory.names().filter { $0.contains("corrupt") } == [])
}

@Test(
    "old rows say nothing where there are new columns, new rows say all, and what nobody reads is gone",
    arguments: StoredSchema.all)
func storedSchemaColumns(stored: StoredSchema) throws {
    let workshop = try Workshop(database: try stored.bytes())
    for table in ["locations", "rejected"] {
        #expect(try workshop.count(table) > 0)
        #expect(try workshop.count("\(table) WHERE ignition IS NOT NULL OR battery IS NOT NULL") == 0)
    }
    for table in ["rejected", "rejected_events"] {
        // The first version knew no events.
        #expect(try workshop.count(table) > 0 || stored.version == 1)
        #expect(try workshop.count("\(table) WHERE reason IS NOT NULL") == 0)
    }
    #expect(
        try workshop.count("pragma_table_info('batches') WHERE name IN ('cursor', 'is_unanswered')") == 0)
    #expect(try workshop.stored().allSatisfy { $0.ignition == nil && $0.battery == nil })
    // Whatever was in it goes; then a row of today is stored, refused, and comes back.
    while let batch = try workshop.store.nextFrozen() ?? draftAll(workshop) {
        _ = try workshop.store.acknowledge(batch)
    }
    var location = location(1000, id: uuid(8_000_000))
    (location.ignition, location.battery) = (true, Battery(percent: 83, state: .charging))
    _ = try workshop.store.insert(
        NewLocation(
            location: location, session: uuid(3), sessionStartedAt: time(0), odometer: 1, extras: nil,
            prunesByAge: false))
    let batch = try workshop.freeze(limit: 10)
    _ = try workshop.store.reject(batch, status: 422, reason: "no such vehicle", at: time(2000))
    #expect(
        try workshop.query(
            "SELECT ignition || ' ' || (battery >> 3) || ' ' || reason FROM rejected WHERE http_status = 422 "
                + "AND ts = \(time(1000).milliseconds)") == "1 83 no such vehicle")
    var work = try workshop.store.begin(.requeue)
    while !work.isFinished { try workshop.store.proceed(with: &work) }
    let back = try workshop.stored().filter { $0.id == location.id }
    #expect(back.map(\.battery) == [location.battery] && back.map(\.ignition) == [true])
}

/// The next of what is pending, as a batch.
private func draftAll(_ workshop: Workshop) throws -> FrozenBatch? {
    guard let draft = try workshop.store.draftBatch(limit: 100) else { return nil }
    return try workshop.freeze(draft)
}

@Test("it does so also when half of it lies in a WAL, or is opened twice", arguments: StoredSchema.all)
func storedSchemaWithLog(stored: StoredSchema) throws {
    let directory = try TemporaryDirectory()
    try directory.write("beekon.db", try stored.bytes())
    // Folded in, the rows are other than the story tells; only with the WAL they are the same again.
    for isFolded in [true, false] {
        let connection = try Connection(path: directory.file("beekon.db"), access: .readWrite)
        _ = try connection.value("PRAGMA journal_mode = WAL")
        if !isFolded { connection.leaveLogOnClose() }
        try connection.execute("UPDATE locations SET uploaded = 1 - uploaded")
    }
    #expect(try directory.read("beekon.db-wal").count > 2048)
    let workshop = try Workshop(in: directory)
    try workshop.reopen()
    #expect(try StoredSchema.tell(workshop) == (try stored.story()))
}

@Test(
    "another endpoint dissolves what the old one had refused under an earlier schema",
    arguments: StoredSchema.all)
func storedSchemaAdopts(stored: StoredSchema) throws {
    let workshop = try Workshop(database: try stored.bytes())
    let first = try #require(try workshop.store.nextFrozen())
    try workshop.store.adopt(endpoint: 7)
    #expect(try workshop.store.nextFrozen() == first)
    try workshop.store.adopt(endpoint: 8)
    let second = try #require(try workshop.store.nextFrozen())
    #expect(second != first && second.isPiece)
}

@Test(
    "a suspicion, or rejections in a row, go on under this schema", arguments: [0, 1, 2, 3, 9, -1])
func storedSchemaStreak(count: Int64) throws {
    let stored = try #require(StoredSchema.all.first { $0.version == 2 })
    let directory = try TemporaryDirectory()
    try directory.write("beekon.db", try stored.bytes())
    try Connection(path: directory.file("beekon.db"), access: .readWrite).execute(
        "INSERT OR REPLACE INTO counters (name, value) VALUES ('consecutive_rejections', \(count))")
    let workshop = try Workshop(in: directory)
    let streak = try workshop.lines("SELECT DISTINCT batch FROM streak ORDER BY batch").count
    #expect(streak == min(max(count, 0), 2))
    #expect(try workshop.count("rejected WHERE batch IN (SELECT batch FROM streak)") == [0, 1, 4][streak])
    let probe = try #require(try workshop.store.nextFrozen())
    let before = workshop.store.counts()
    let rejection = try workshop.store.reject(
        probe, status: 422, at: time(100 * 86_400), trusted: time(100 * 86_400))
    #expect((rejection == .suspected) == (count >= 3))
    if count >= 3 { #expect(workshop.store.counts().pending == before.pending + before.rejected) }
}

@Test("what still reads of a damaged database of an earlier schema is saved", arguments: StoredSchema.all)
func storedSchemaSalvaged(stored: StoredSchema) throws {
    let directory = try TemporaryDirectory()
    var bytes = try stored.bytes()
    try directory.write("beekon.db", bytes)
    let sound = try Workshop(in: directory)
    let (expected, events) = (try sound.stored(), try sound.events())
    let root = try #require(
        Int(try sound.query("SELECT rootpage FROM sqlite_schema WHERE name = 'counters'") ?? ""))
    let page = try #require(Int(try sound.query("PRAGMA page_size") ?? ""))
    bytes.replaceSubrange((root - 1) * page..<root * page, with: [UInt8](repeating: 0xA5, count: page))
    let workshop = try Workshop(database: bytes)
    guard case .quarantined(_, _, let salvaged) = workshop.store.takeEvents().first else {
        Issue.record("nothing was moved aside")
        return
    }
    // Dead letters come back as pending rows.
    let rejected = sound.store.counts().rejected
    #expect(salvaged == expected.count + events.count + rejected)
    let (found, foundEvents) = (try workshop.stored(), try workshop.events())
    #expect(expected.allSatisfy(found.contains))
    #expect(events.allSatisfy(foundEvents.contains))
    #expect(workshop.store.counts().pending == sound.store.counts().pending + rejected)
    #expect(try workshop.query("PRAGMA user_version") == "\(Schema.version)")
    #expect(try workshop.directory.names().count { $0.hasSuffix(".salvaged") } == 0, "counters are missing")
}

@Test("a database is ours only when its tables are those of the version that it claims to be")
func versionsAreToldApart() throws {
    for actual in 0...Int(Schema.version) {
        let connection = try Connection(path: ":memory:", access: .readWrite)
        for step in Schema.migrations[..<actual] { try connection.execute(step) }
        try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
        for claimed in -1...Schema.version + 1 {
            #expect(
                try Schema.isOurs(connection, version: claimed) == (claimed == actual),
                "\(actual), \(claimed)")
        }
    }
}
