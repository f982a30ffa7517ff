import Foundation
import SQLite
import Support
import Testing

@testable import Storage

@Test(
    "the database is what the contract says",
    arguments: [
        ("PRAGMA journal_mode", "wal"), ("PRAGMA user_version", "\(Schema.version)"),
        ("PRAGMA application_id", "1111835979"),
        ("PRAGMA page_size", "1024"), ("PRAGMA quick_check", "ok"),
        (
            "SELECT group_concat(name) FROM pragma_table_info('locations') WHERE \"notnull\" = 0",
            "accuracy,speed,bearing,altitude,activity,quality,mileage,ignition,battery"
        ),
        ("SELECT type FROM pragma_table_info('locations') WHERE name = 'ts'", "INTEGER"),
        (
            "SELECT group_concat(name) FROM pragma_table_info('batches')",
            "key,destination,id,format,request,session,extras,first_ts,first_seq,last_ts,last_seq,runs,events,body,"
                + "is_permanent,is_piece"
        ),
        (
            "SELECT group_concat(type) FROM pragma_table_info('locations') WHERE name IN ('lat', 'lng')",
            "REAL,REAL"
        ),
    ])
func schema(sql: String, expected: String) throws {
    let workshop = try Workshop()
    try workshop.insert(1)
    #expect(try workshop.query(sql) == expected)
    #expect(try workshop.directory.names() == ["ballast", "beekon.db", "beekon.db-shm", "beekon.db-wal"])
    workshop.store.close()
    #expect(try workshop.directory.names() == ["ballast", "beekon.db"], "the WAL is folded in")
}

@Test("the write connection's pragmas are those that were asked for", arguments: [(true, "2"), (false, "1")])
func pragmas(isFull: Bool, synchronous: String) throws {
    let directory = try TemporaryDirectory()
    let options = StoreOptions(maxRows: 1000, durability: isFull ? .full : .normal)
    let writer = try Writer.open(directory.file("beekon.db"), options: options)
    for (name, expected) in [
        ("synchronous", synchronous), ("journal_mode", "wal"), ("wal_autocheckpoint", "0"),
        ("cache_size", "-512"), ("temp_store", "2"), ("mmap_size", "0"), ("trusted_schema", "0"),
        ("cell_size_check", "1"), ("secure_delete", "0"), ("max_page_count", "66536"),
    ] {
        #expect(try writer.db.value("PRAGMA " + name) == expected, "\(name)")
    }
}

@Test("a change of durability counts from the next commit")
func durabilityChanges() throws {
    let directory = try TemporaryDirectory()
    var writer = try Writer.open(directory.file("beekon.db"), options: StoreOptions(durability: .normal))
    for (durability, expected) in [(StoreOptions.Durability.full, "2"), (.normal, "1")] {
        try writer.apply(StoreOptions(durability: durability))
        #expect(try writer.db.value("PRAGMA synchronous") == expected)
    }
}

@Test(
    "ranges over ts and the rows of a batch are found by the primary key",
    arguments: [
        "SELECT * FROM locations WHERE ts BETWEEN 1 AND 2",
        "SELECT * FROM locations WHERE ts >= 1 AND ts <= 2 ORDER BY ts",
        "SELECT * FROM locations WHERE (ts, seq) > (1, 2) AND ts <= 3 ORDER BY ts, seq LIMIT 10",
        "SELECT * FROM locations WHERE (ts, seq) < (1, 2) ORDER BY ts, seq LIMIT 10",
        "SELECT ts, seq FROM locations WHERE (ts, seq) >= (1, 2) AND uploaded = 0 ORDER BY ts, seq LIMIT 1",
        "DELETE FROM locations WHERE " + Locations.isInRun,
        "UPDATE locations SET uploaded = 1 WHERE " + Locations.isInRun,
        "DELETE FROM locations WHERE (ts, seq) <= (1, 2) AND seq <= 3",
        "SELECT 1 FROM locations WHERE ts = 1 AND id = 2",
    ])
func queryPlan(sql: String) throws {
    let workshop = try Workshop()
    let connection = try Connection(path: workshop.directory.file("beekon.db"), access: .readOnly)
    let plan = try connection.prepare("EXPLAIN QUERY PLAN " + sql)
    var steps: [String] = []
    while try plan.step() { steps.append(plan.text(3) ?? "") }
    #expect(steps.count == 1 && steps[0].hasPrefix("SEARCH locations USING PRIMARY KEY"), "\(steps)")
}

@Test("a database of a newer schema is refused and not touched", arguments: ["DELETE", "WAL"])
func newerSchema(journal: String) throws {
    let directory = try TemporaryDirectory()
    do {
        let connection = try Connection(path: directory.file("beekon.db"), access: .readWrite)
        _ = try connection.value("PRAGMA journal_mode = " + journal)
        try connection.execute("CREATE TABLE later (x)")
        try connection.execute("PRAGMA user_version = \(Schema.version + 1)")
    }
    let before = try directory.read("beekon.db")
    for _ in 0..<2 {
        let error = #expect(throws: StorageError.self) {
            try Store(directory: directory.path, options: StoreOptions())
        }
        #expect(error?.kind == .newerSchema)
        #expect(error?.message.contains("schema \(Schema.version + 1)") == true)
    }
    // Looking at a WAL database makes the files beside it; the database itself stays as it was.
    #expect(
        try directory.names().filter { !["beekon.db-shm", "beekon.db-wal"].contains($0) } == ["beekon.db"])
    #expect(try directory.read("beekon.db") == before)
}

@Test(
    "what is no database is moved aside, and a new one starts",
    arguments: [
        ("garbage", Array("this is no database, whatever its name may say, and it goes on for a while".utf8)),
        ("zero pages", [UInt8](repeating: 0, count: 8192)),
    ])
func quarantine(name: String, content: [UInt8]) throws {
    let directory = try TemporaryDirectory()
    try directory.write("beekon.db", content)
    let store = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
    guard case .quarantined(let aside, let reason, _) = store.takeEvents().first else {
        Issue.record("nothing was moved aside")
        return
    }
    #expect(aside.hasPrefix(directory.file("beekon.db.corrupt-")))
    #expect(!reason.isEmpty)
    #expect(store.takeEvents() == [])
    let kept = try #require(try directory.names().first { $0.contains("corrupt") })
    #expect(try directory.read(kept) == content)
    #expect(store.counts() == StoreCounts())
    store.close()
    _ = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
    #expect(try directory.names().count { $0.contains("corrupt") } == 1)
}

@Test(
    "a database that lost its end is moved aside, and what still reads of it is saved",
    arguments: [0.3, 0.7, 0.95])
func truncated(part: Double) throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...500)
    workshop.store.close()
    let whole = try workshop.directory.read("beekon.db")
    try workshop.directory.write(
        "beekon.db", Array(whole.prefix(Int(Double(whole.count) * part) / 1024 * 1024)))
    try workshop.reopen()
    guard case .quarantined(_, _, let salvaged) = workshop.store.takeEvents().first else {
        Issue.record("nothing was moved aside")
        return
    }
    // Leaves lie in the order in which they were written: about as much is saved as was left, unless the page that leads to
    // them was cut off as well.
    #expect(Double(salvaged) > 500 * (part - 0.5) && salvaged < 500)
    #expect(try workshop.stored().count == salvaged)
    #expect(workshop.store.counts().pending == salvaged)
    try workshop.insert(501)
    #expect(try workshop.stored().count == salvaged + 1)
    #expect(
        try workshop.directory.names().count { $0.hasSuffix(".salvaged") } == 0,
        "what could not be read may be read by somebody else")
}

@Test("a directory or a link in the database's place is moved aside")
func notAFile() throws {
    let directory = try TemporaryDirectory()
    let inner = try Workshop()
    _ = inner
    try makeDirectory(directory.file("beekon.db"))
    let store = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
    #expect(store.takeEvents().count == 1)
    store.close()
    try replaceByLink(directory.file("beekon.db"), to: inner.directory.file("beekon.db"))
    let other = try Store(directory: directory.path, options: StoreOptions(durability: .normal))
    #expect(other.takeEvents().count == 1)
    #expect(try directory.names().count { $0.contains("corrupt") } == 2)
}

@Test("damage that only a write meets is found at run time, and the database is moved aside")
func damageAtRunTime() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...500)
    _ = try workshop.store.acknowledge(try workshop.freeze(limit: 500))
    workshop.store.close()
    try workshop.reopen()
    // Bytes 32 to 35 of the header: the first page of the list of free ones. Damaged in place, behind the store's back.
    let bytes = try workshop.directory.read("beekon.db")
    let page = bytes[32..<36].reduce(0) { $0 << 8 | Int($1) }
    try #require(page > 0)
    let file = try #require(FileHandle(forUpdatingAtPath: workshop.directory.file("beekon.db")))
    try file.seek(toOffset: UInt64((page - 1) * 1024))
    try file.write(contentsOf: [UInt8](repeating: 0xFF, count: 8))
    try file.close()
    #expect(workshop.store.takeEvents() == [])
    var failures: [StorageError] = []
    for second in 1...500 {
        do { try workshop.insert(Double(second)) } catch let error as StorageError { failures.append(error) }
    }
    #expect(failures.map(\.kind) == [.corrupt], "one write fails, the next has a new database")
    #expect(workshop.store.takeEvents().count == 1)
    #expect(try workshop.stored().count > 400)
}
