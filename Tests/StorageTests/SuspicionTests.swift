import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

private let day = 86_400.0

@Suite("rejections in a row, and what becomes of their dead letters") struct SuspicionTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop()
    }

    @discardableResult
    private func reject(limit: Int = 10, at second: Double = 50) throws -> Rejection {
        let batch = try store.nextFrozen() ?? workshop.freeze(limit: limit)
        return try store.reject(batch, status: 422, at: time(second), trusted: time(second))
    }

    private func acknowledge() throws {
        _ = try store.acknowledge(try store.nextFrozen() ?? workshop.freeze())
    }

    @Test("the third in a row brings the dead letters of the others back, under their own ids")
    func streakComesBack() throws {
        let ids = try workshop.insert(1...40)
        for _ in 0..<2 {
            #expect(try reject() == .deadLettered(10))
            // Which of them belong to the streak is written down.
            try workshop.reopen()
        }
        let probe = try workshop.freeze()
        #expect(try reject() == .suspected)
        let all = StoreCounts(locations: 40, pending: 40, oldestPending: time(1))
        #expect(store.counts() == all)
        try workshop.reopen()
        #expect(store.counts() == all)
        #expect(try reject() == .suspected)
        #expect(try store.nextFrozen() == probe)
        #expect(try store.acknowledge(probe) == 10)
        var sent = probe.ids
        while store.counts().pending > 0 {
            let batch = try workshop.freeze()
            sent += batch.ids
            _ = try store.acknowledge(batch)
        }
        #expect(Set(sent) == Set(ids) && sent.count == ids.count)
    }

    @Test("with isolation, too")
    func isolated() throws {
        _ = try workshop.insert(1...40)
        for _ in 0..<2 {
            let batch = try workshop.freeze()
            #expect(try !store.countRejection(of: batch))
            let halves = try store.halves(of: batch)
            let pieces = halves.enumerated().map {
                (
                    draft: $1, id: uuid(3_000_000 + workshop.batches * 10 + $0),
                    request: StoredRequest(body: workshop.body(of: $1))
                )
            }
            try store.split(batch, into: pieces)
            for _ in pieces { #expect(try reject() == .deadLettered(5)) }
        }
        let batch = try workshop.freeze()
        #expect(try store.countRejection(of: batch))
        #expect(store.counts() == StoreCounts(locations: 40, pending: 40, oldestPending: time(1)))
        #expect(try store.nextFrozen() == batch)
    }

    @Test("what an acknowledgement lies behind stays a dead letter")
    func earlierOnesStay() throws {
        _ = try workshop.insert(1...50)
        try reject()
        try acknowledge()
        for _ in 0..<2 { try reject() }
        #expect(try reject() == .suspected)
        #expect(store.counts().rejected == 10)
        #expect(try workshop.lines("SELECT ts FROM rejected").first == "\(start + 1000)")
    }

    @Test(
        "what the user has put back or deleted meanwhile is none of its business", arguments: [false, true])
    func retriedMeanwhile(isPurged: Bool) throws {
        _ = try workshop.insert(1...40)
        try reject()
        var work = try store.begin(isPurged ? .purge : .requeue)
        while !work.isFinished { try store.proceed(with: &work) }
        for _ in 0..<2 { try reject() }
        #expect(store.counts().pending == (isPurged ? 30 : 40))
        #expect(store.counts().rejected == 0)
    }

    @Test("dead letters expire, and are counted over restarts; but none while the endpoint is suspected")
    func expiry() throws {
        _ = try workshop.insert(1...80)
        try reject(at: 0)
        try acknowledge()
        // One in a row: the streak's own letters wait to see whose fault it was.
        try reject(at: 1)
        try reject(at: 7 * day + 0.5)
        #expect(store.counts().losses == Losses(expired: 10))
        #expect(store.counts().rejected == 20)
        #expect(store.takeLosses() == Losses(expired: 10))
        #expect(store.takeLosses() == Losses())
        try workshop.reopen()
        #expect(store.counts().losses == Losses(expired: 10))
        #expect(store.takeLosses() == Losses())
        try acknowledge()
        #expect(try reject(at: 8 * day) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 20), "the other two are a day old")
        for _ in 0..<2 { try reject(at: 8 * day) }
        let before = store.counts()
        #expect(before.rejected == 10)
        #expect(try reject(at: 100 * day) == .suspected)
        #expect(store.counts() == before)
        try acknowledge()
        // They have as long again from its end, which is the first trusted time after it.
        try workshop.reopen()
        #expect(try reject(at: 100 * day) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 20) && store.counts().rejected == 20)
        try acknowledge()
        _ = try workshop.insert(81...100)
        #expect(try reject(at: 107 * day) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 20))
        try acknowledge()
        _ = try workshop.insert(101...110)
        #expect(try reject(at: 107 * day + 1) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 40) && store.counts().rejected == 20)
    }

    @Test("a dead letter of the streak never expires: the next rejection may bring it back")
    func streakIsSpared() throws {
        _ = try workshop.insert(1...50)
        try reject(at: 0)
        try reject(at: 20 * day)
        #expect(store.counts().losses == Losses())
        #expect(try reject(at: 40 * day) == .suspected)
        #expect(store.counts().pending == 50)
        try acknowledge()
        #expect(store.counts().losses == Losses())
    }

    @Test("a clock that goes back after a suspicion delays no dead letter for longer")
    func clockGoesBack() throws {
        _ = try workshop.insert(1...60)
        for _ in 0..<3 { try reject(at: 1000 * day) }
        try acknowledge()
        #expect(try reject(at: 1000 * day) == .deadLettered(10))
        try acknowledge()
        #expect(try reject(at: 1 * day) == .deadLettered(10))
        try acknowledge()
        #expect(try reject(at: 8 * day + 1) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 10))
    }

    /// Leaves room for five dead letters.
    private func fill() throws {
        try reject()
        try acknowledge()
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            """
            WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < 9985)
            INSERT INTO rejected (rejected_at, seq, destination, ts, session, id, lat, lng, mode, "trigger", motion, is_mock, extras, odometer,
            batch, http_status) SELECT \(start), 1000000 + n, 'main', \(start), 1, x'00', 1.0, 2.0, 3, 0, 0, 0, 0, 0.0, x'00', 422
            FROM numbers
            """)
        try workshop.reopen()
        #expect(store.counts().rejected == 9995)
    }

    private func purge() throws {
        var work = try store.begin(.purge)
        while !work.isFinished { try store.proceed(with: &work) }
    }

    @Test("a full table holds the drain from the first rejection on, loses nothing, and raises no suspicion")
    func fullTable() throws {
        _ = try workshop.insert(1...60)
        try fill()
        let before = store.counts()
        for second in [1.0, 2, 3, 4] { #expect(try reject(at: second) == .full) }
        #expect(store.counts() == before)
        try purge()
        // Three in a row are three batches, not three attempts.
        for _ in 0..<2 { #expect(try reject() == .deadLettered(10)) }
        #expect(try reject() == .suspected)
        for _ in 0..<4 { try acknowledge() }
        #expect(store.counts().pending == 0)
    }

    @Test("a piece that finds no room goes once there is some")
    func fullTableForPieces() throws {
        _ = try workshop.insert(1...60)
        try fill()
        let batch = try workshop.freeze()
        #expect(try !store.countRejection(of: batch))
        let pieces = try store.halves(of: batch).enumerated().map {
            (draft: $1, id: uuid(3_000_000 + $0), request: StoredRequest(body: workshop.body(of: $1)))
        }
        try store.split(batch, into: pieces)
        #expect(try reject() == .deadLettered(5))
        for _ in 0..<4 { #expect(try reject() == .full) }
        try purge()
        #expect(try reject() == .deadLettered(5))
        #expect(store.counts().pending == 30)
    }

    @Test("old dead letters make room in a full table, also after a suspicion")
    func fullTableExpires() throws {
        _ = try workshop.insert(1...60)
        try fill()
        #expect(try reject(at: 100 * day) == .deadLettered(10))
        #expect(store.counts().losses == Losses(expired: 9995))
    }

    @Test("uploaded rows that are kept make room: for unsent ones, and for dead letters that come back")
    func uploadedRowsGoFirst() throws {
        workshop.options = StoreOptions(maxRows: 40, keepsUploaded: true, destinations: .main)
        // The unsent ones are the oldest.
        _ = try workshop.insert(101...120, session: 1)
        try acknowledge()
        try acknowledge()
        _ = try workshop.insert(1...30, session: 1)
        #expect(store.counts().losses == Losses())
        #expect(store.counts().pending == 30)
        try reject()
        try reject()
        _ = try workshop.insert(201...220, session: 1)
        #expect(store.counts().pending == 30 && store.counts().locations == 40)
        #expect(try reject() == .suspected)
        let back = StoreCounts(locations: 40, pending: 40, oldestPending: time(1), rejected: 10)
        #expect(store.counts() == back, "the rest has no room yet")
        try acknowledge()
        // It was not expelled from the streak by what came back, and is an ordinary dead letter now.
        #expect(store.counts().rejected == 10 && store.counts().losses == Losses())
        var work = try store.begin(.requeue)
        while !work.isFinished { try store.proceed(with: &work) }
        #expect(work.done == 10)
        #expect(store.counts().locations == 40 && store.counts().pending == 40)
    }

    @Test("what has no room when a suspicion ends does not go all at once")
    func noRoomAtTheEnd() throws {
        workshop.options = StoreOptions(maxRows: 30, destinations: .main)
        _ = try workshop.insert(1...30)
        for _ in 0..<2 { try reject(at: 0) }
        _ = try workshop.insert(101...120)
        #expect(try reject(at: 1) == .suspected)
        #expect(store.counts().rejected == 20, "the queue is full")
        try acknowledge()
        #expect(try reject(at: 30 * day) == .deadLettered(10))
        #expect(store.counts().rejected == 30 && store.counts().losses == Losses())
    }
}

@Test("a lowered cap is reached without a fix, in steps, and while a batch can be frozen and acknowledged")
func capLowered() throws {
    // Far above the pages that the new cap would allow by itself.
    let workshop = try Workshop(StoreOptions(maxRows: 1_000_000, destinations: .main))
    try workshop.insert(0)
    workshop.store.close()
    try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
        """
        WITH RECURSIVE numbers(n) AS (VALUES (2) UNION ALL SELECT n + 1 FROM numbers WHERE n < 5000)
        INSERT INTO locations (\(Schema.columns)) SELECT \(start) + n, n, 1, randomblob(15000), 1.0, 2.0, NULL, NULL, NULL, NULL,
        3, 0, 0, NULL, NULL, 0, 0, 0.0, NULL, NULL, NULL FROM numbers
        """)
    try workshop.reopen()
    workshop.options.maxRows = 1000
    let session = try #require(try workshop.store.draftBatch(limit: 1))
    let body = [UInt8](repeating: 7, count: 1 << 20)
    let batch = try #require(try workshop.store.freeze(session, id: uuid(9), StoredRequest(body: body)))
    #expect(try workshop.store.acknowledge(batch) == 1)
    var steps = 1
    while try workshop.store.shrink() { steps += 1 }
    #expect(steps == 4)
    #expect(workshop.store.counts().locations == 1000)
    #expect(workshop.store.counts().losses == Losses(dropped: 3999))
    try workshop.reopen()
    #expect(workshop.store.counts().losses == Losses(dropped: 3999))
    #expect(try !workshop.store.shrink())
}

@Test("every table whose rows name extras, or a session, keeps them from being forgotten")
func registry() throws {
    let workshop = try Workshop()
    _ = try workshop.store.enter(session: uuid(1), startedAt: time(0))
    workshop.store.close()
    var writer = try Writer.open(workshop.directory.file("beekon.db"), options: workshop.options)
    #expect(
        try Schema.tables(naming: "extras", in: writer.db)
            == ["batches", "events", "locations", "rejected", "rejected_events"])
    #expect(
        try Schema.tables(naming: "session", in: writer.db)
            == ["batches", "events", "locations", "rejected", "rejected_events"])
    // One that is added later is in it.
    try writer.db.execute("CREATE TABLE later (extras INTEGER NOT NULL); INSERT INTO later VALUES (7)")
    for version in 1...120 {
        try writer.db.prepare("INSERT INTO extras (version, json) VALUES (?, ?)").run(
            .integer(Int64(version)), .text(#"{"n":\#(version)}"#))
    }
    try writer.forgetUnusedExtras()
    #expect(Array(writer.ledger.extras.versions.values) == [7])
    for version in 201...320 {
        try writer.db.prepare("INSERT INTO extras (version, json) VALUES (?, ?)").run(
            .integer(Int64(version)), .text(#"{"n":\#(version)}"#))
    }
    // At a start, too.
    try writer.load()
    #expect(Array(writer.ledger.extras.versions.values) == [7])
}
