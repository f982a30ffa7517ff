import Base
import CSQLite
import Support
import Testing

@testable import SQLite
@testable import Storage
@testable import Tracking

private let day = 86_400.0

@Test("a row goes when it is older than the retention, and not at that age", arguments: [true, false])
func ageLimitIsExact(isSyncing: Bool) throws {
    let workshop = try Workshop(
        StoreOptions(retention: 7 * day, keepsUploaded: true, destinations: isSyncing ? .main : []))
    _ = try workshop.insert(1...3)
    _ = try workshop.store.acknowledge(try workshop.freeze())
    try workshop.insert(7 * day + 2, prunesByAge: true)
    #expect(try workshop.stored().map(\.fix.time) == [2, 3, 7 * day + 2].map(time))
    try workshop.insert(7 * day + 2.001, prunesByAge: true)
    #expect(try workshop.stored().map(\.fix.time) == [3, 7 * day + 2, 7 * day + 2.001].map(time))
    #expect(workshop.store.counts().losses.dropped == 0)
}

@Test("age catches up several rows a write, also past a long backlog that was never sent")
func ageCatchesUp() throws {
    let workshop = try Workshop(StoreOptions(retention: day, keepsUploaded: true, destinations: .main))
    _ = try workshop.insert(1...40, session: 1)
    _ = try workshop.store.acknowledge(try workshop.freeze(limit: 20))
    _ = try workshop.insert(-40 ... -1, session: 2)
    for round in 0..<3 { try workshop.insert(2 * day + Double(round), session: 2, prunesByAge: true) }
    #expect(try workshop.count("locations WHERE uploaded = 1") == 0)
    #expect(workshop.store.counts() == StoreCounts(locations: 63, pending: 63, oldestPending: time(-40)))
}

@Test("without a backend a frozen batch of earlier days stays as well")
func ageSparesBatches() throws {
    let workshop = try Workshop(StoreOptions(retention: day, destinations: .main))
    _ = try workshop.insert(1...6)
    let batch = try workshop.freeze(limit: 3)
    workshop.options.destinations = []
    try workshop.insert(3 * day, prunesByAge: true)
    #expect(try workshop.stored().map(\.fix.time) == [1, 2, 3, 3 * day].map(time))
    #expect(try workshop.store.nextFrozen() == batch)
    _ = try workshop.store.acknowledge(batch)
    #expect(workshop.store.counts().locations == 1)
}

@Test("a batch that spans a long time shields its own rows from the cap, and none between them")
func capPrunesBetween() throws {
    let workshop = try Workshop(StoreOptions(maxRows: 12, destinations: .main))
    for second in [1, 50] { try workshop.insert(Double(second), session: 1) }
    _ = try workshop.insert(2...11, session: 2)
    let batch = try workshop.freeze()
    #expect(batch.locations == 2)
    _ = try workshop.insert(60...65, session: 2)
    #expect(
        try workshop.stored().map(\.fix.time)
            == ([1] + Array(8...11) + [50] + Array(60...65)).map { time(Double($0)) })
    #expect(workshop.store.counts().losses.dropped == 6)
    // Older than the place where the search had arrived.
    try workshop.insert(0.5, session: 2)
    try workshop.insert(66, session: 2)
    #expect(Array(try workshop.stored().map(\.fix.time).prefix(3)) == [1, 9, 10].map(time))
    _ = try workshop.store.acknowledge(batch)
    workshop.options.maxRows = 3
    try workshop.insert(67, session: 2)
    #expect(try workshop.stored().map(\.fix.time) == [65, 66, 67].map(time))
}

@Test("a deletion dissolves a batch only when it takes one of its rows")
func deletionSparesWideBatches() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(10...12, session: 1)
    try workshop.insert(1, session: 2)
    let batch = try workshop.freeze()
    // Before the batch's first row, and between its rows, there are rows of another session only.
    try workshop.insert(10.5, session: 2)
    #expect(try workshop.delete(before: 9).dissolved == [])
    var deletion = try workshop.store.beginDeletion(before: time(10.6))
    while !deletion.isFinished { try workshop.store.proceed(with: &deletion) }
    #expect(deletion.dissolved == [batch.id], "its own first row is older than the cutoff")
    #expect(deletion.removed == 2)
    #expect(try workshop.store.acknowledge(batch) == 2, "the 2xx was complete before")
}

@Test("an acknowledgement that could not be committed is made later, with the same batch")
func acknowledgementRetried() throws {
    let workshop = try Workshop()
    _ = try workshop.insert(1...5)
    let batch = try workshop.freeze(limit: 3)
    let intruder = try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite)
    try intruder.execute("BEGIN IMMEDIATE")
    for _ in 0..<2 { #expect(throws: StorageError.self) { try workshop.store.acknowledge(batch) } }
    try intruder.execute("ROLLBACK")
    try workshop.insert(6)
    #expect(try workshop.store.acknowledge(batch) == 3)
    #expect(workshop.store.counts() == StoreCounts(locations: 3, pending: 3, oldestPending: time(4)))
}

@Test("the pages that the database may have follow the row cap without a restart")
func pageLimit() throws {
    let directory = try TemporaryDirectory()
    var writer = try Writer.open(directory.file("beekon.db"), options: StoreOptions(maxRows: 1000))
    try writer.apply(StoreOptions(maxRows: 1_000_000))
    #expect(try writer.db.value("PRAGMA max_page_count") == "1065536")
}

@Test("a database with larger pages keeps them, and may have fewer")
func largerPages() throws {
    let directory = try TemporaryDirectory()
    do {
        let connection = try Connection(path: directory.file("beekon.db"), access: .readWrite)
        try connection.execute("PRAGMA page_size = 2048")
        try Schema.migrate(connection)
    }
    let writer = try Writer.open(directory.file("beekon.db"), options: StoreOptions(maxRows: 1_000_000))
    #expect(try writer.db.value("PRAGMA page_size") == "2048")
    #expect(try writer.db.value("PRAGMA max_page_count") == "532768")
}

@Test("what a fix changes is bounded in memory: sessions that are gone, and extras that no row has")
func boundedMemory() throws {
    let workshop = try Workshop()
    for number in 1...1100 {
        _ = try workshop.store.enter(session: uuid(number), startedAt: time(Double(number)))
    }
    workshop.store.close()
    var writer = try Writer.open(workshop.directory.file("beekon.db"), options: workshop.options)
    try writer.enter(session: uuid(2000), startedAt: time(2000))
    #expect(writer.ledger.sessions.ids.count == 1000)
    #expect(try workshop.count("sessions") == 1000)
    for number in 1...150 { _ = try writer.version(ofExtras: #"{"n":\#(number)}"#) }
    _ = consume writer
    try workshop.insert(3000, session: 2000, extras: #"{"n":77}"#)
    try workshop.reopen()
    #expect(try workshop.lines("SELECT json FROM extras") == [#"{"n":77}"#])
    try workshop.insert(3001, session: 2000, extras: #"{"n":78}"#)
    #expect(try workshop.store.draftBatch(limit: 5)?.extras == #"{"n":77}"#)
}

// MARK: Cost

/// A situation in which a fix is written, with a table of some size.
struct Situation: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var options: @Sendable (Int) -> StoreOptions
    /// SQL: which of the rows were uploaded.
    var uploaded = "0"
    var freezes = false
    var prunesByAge = false

    static let all = [
        Situation(testDescription: "below the cap") { _ in StoreOptions(maxRows: 200_000, destinations: .main)
        },
        Situation(testDescription: "at the cap") { StoreOptions(maxRows: $0, destinations: .main) },
        Situation(
            testDescription: "at the cap, behind a frozen batch",
            options: { StoreOptions(maxRows: $0, destinations: .main) }, freezes: true),
        Situation(
            testDescription: "without a backend, everything is old",
            options: { _ in StoreOptions(retention: 1, maxRows: 200_000) }, prunesByAge: true),
        Situation(
            testDescription: "everything was uploaded and is kept, at the cap",
            options: { StoreOptions(maxRows: $0, keepsUploaded: true, destinations: .main) }, uploaded: "1",
            prunesByAge: true),
        Situation(
            testDescription: "an old backlog lies before what was uploaded",
            options: { _ in
                StoreOptions(retention: 1, maxRows: 200_000, keepsUploaded: true, destinations: .main)
            },
            uploaded: "n > total - 400", prunesByAge: true),
        Situation(
            testDescription: "what was never sent goes for its age, behind much that is kept",
            options: { _ in
                StoreOptions(
                    maxRows: 200_000, keepsUploaded: true, destinations: .main, unsentRetention: 1)
            },
            uploaded: "n <= total - 400", prunesByAge: true),
        Situation(
            testDescription: "several destinations, none of which has taken anything, at the cap",
            options: { StoreOptions(retention: 1, maxRows: $0, destinations: .named(.main, .fleet)) },
            prunesByAge: true),
        Situation(
            testDescription: "several, behind a frozen batch",
            options: { StoreOptions(retention: 1, maxRows: $0, destinations: .named(.main, .fleet)) },
            freezes: true,
            prunesByAge: true),
    ]
}

@Test("a write costs the same with a hundred times the rows", arguments: Situation.all)
func constantCost(situation: Situation) throws {
    let (few, many) = (try steps(1000, situation), try steps(100_000, situation))
    print(
        "steps of SQLite's machine per write, \(situation.testDescription): \(few) with 1,000 rows, \(many) with 100,000"
    )
    // Alike but for the depth of the tree.
    #expect(Double(many) < Double(few) * 1.2 + 20)
}

/// Instructions that SQLite's virtual machine runs for one write, the mean of fifty after the first.
private func steps(_ count: Int, _ situation: Situation) throws -> Int {
    let directory = try TemporaryDirectory(inMemory: true)
    let path = directory.file("beekon.db")
    var options = situation.options(count)
    options.durability = .normal
    _ = try Writer.open(path, options: options)
    try Connection(path: path, access: .readWrite).execute(
        """
        INSERT INTO sessions (key, id, started_at, first_seq, last_seq) VALUES (1, x'\(hex(uuid(1)))', 0, 1, 0);
        WITH RECURSIVE numbers(n, total) AS (VALUES (1, \(count)) UNION ALL SELECT n + 1, total FROM numbers WHERE n < total)
        INSERT INTO locations (\(Schema.columns), uploaded)
        SELECT \(start) + n, n, 1, x'\(hex(uuid(7)))', 1.0, 2.0, NULL, NULL, NULL, NULL, 3, 0, 0, NULL, NULL, 0, 0, 0.0,
        NULL, NULL, NULL, \(situation.uploaded) FROM numbers
        """)
    var writer = try Writer.open(path, options: options)
    if situation.freezes {
        let draft = try #require(try writer.draftBatch(for: .main, limit: 900))
        _ = try writer.freeze(draft, id: uuid(2), StoredRequest(body: []))
    }
    var counter = 0
    let writes = 50
    try withUnsafeMutablePointer(to: &counter) { counter in
        for number in 0...writes {
            // The first may look for where the next ones begin.
            if number == 1 {
                sqlite3_progress_handler(
                    writer.db.handle, 1,
                    { pointer in
                        pointer?.assumingMemoryBound(to: Int.self).pointee += 1
                        return 0
                    }, counter)
            }
            let new = NewLocation(
                location: location(1e6 + Double(number), id: uuid(100 + number)), session: uuid(1),
                sessionStartedAt: time(0), odometer: 0, extras: nil, prunesByAge: situation.prunesByAge)
            try writer.insert(new, mayExist: false)
        }
        sqlite3_progress_handler(writer.db.handle, 0, nil, nil)
    }
    return counter / writes
}

private func hex(_ id: UUIDv7) -> String {
    id.description.filter { $0 != "-" }
}
