import Base
import EnvelopeReader
import Testing

@testable import ServerStore

@Suite("what has changed") struct ChangesTests {
    private func submission(_ number: Int, of device: Int64) -> Submission {
        Submission(
            device: device, batch: Samples.batch(number, from: number * 10, count: 2), received: Samples.now)
    }

    /// Behind all that is there: while other tests have transactions under way, a cursor begins before some of it.
    private func begin(_ store: Store) async throws -> Changes.Cursor {
        var cursor = try await store.read { session throws(StoreError) in try Changes.begin(in: session) }
        _ = try await read(store, &cursor)
        return cursor
    }

    /// - Parameter later: how much later than it is.
    private func read(
        _ store: Store, _ cursor: inout Changes.Cursor, later: Duration = .zero
    ) async throws -> [Int64]? {
        let start = cursor
        let (moved, devices) = try await store.read { session throws(StoreError) in
            var cursor = start
            let devices = try Changes.read(&cursor, now: .now + later, from: session)
            return (cursor, devices)
        }
        cursor = moved
        return devices
    }

    @Test("each upload is told once, to whoever has begun before it", arguments: Workshop.Kind.available)
    func once(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.submit(submission(1, of: 6))
        var cursor = try await begin(store)
        #expect(try await read(store, &cursor) == [])
        _ = try await store.submit(submission(2, of: 8))
        _ = try await store.submit(submission(3, of: 7))
        #expect(try await read(store, &cursor) == [7, 8])
        #expect(try await read(store, &cursor) == [])
        // What comes again was heard of, too; and what has no rows.
        _ = try await store.submit(submission(3, of: 7))
        #expect(try await read(store, &cursor) == [7])
        var heartbeat = submission(4, of: 9)
        heartbeat.batch.locations = []
        heartbeat.batch.remarks.status = Array("{}".utf8)
        _ = try await store.submit(heartbeat)
        #expect(try await read(store, &cursor) == [9])
        store.close()
    }

    @Test("what they are is asked for by number, of as many as there are", arguments: Workshop.Kind.available)
    func byNumber(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        for device in 1...101 as ClosedRange<Int64> { try await store.addDevice(device) }
        for count in [0, 1, 2, 10, 11, 100] as [Int64] {
            let wanted = (0..<count).map { 101 - $0 }
            let found = try await store.read { session throws(StoreError) in
                try Reading.devices(for: .everything, wanted, from: session).map(\.id)
            }
            #expect(found == wanted.reversed())
        }
        // Who sees none is told of none.
        let unseen = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .user(1), [7], from: session)
        }
        #expect(unseen.isEmpty)
        store.close()
    }

    @Test("who has not looked for long asks for all", arguments: Workshop.Kind.available)
    func lost(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        var cursor = try await begin(store)
        _ = try await store.submit(submission(1, of: 7))
        #expect(try await read(store, &cursor, later: .seconds(400)) == nil)
        _ = try await read(store, &cursor, later: .seconds(400))
        _ = try await store.submit(submission(2, of: 8))
        #expect(try await read(store, &cursor, later: .seconds(401)) == [8])
        // A database that has fewer transactions behind it is another one.
        cursor = Changes.Cursor(at: Changes.Moment(ended: 1 << 40, next: 1 << 40), .now)
        #expect(try await read(store, &cursor) == nil)
        store.close()
    }

    @Test(
        "what is old is removed, and nothing that comes later is passed over",
        arguments: Workshop.Kind.available)
    func prune(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        for number in 1...5 { _ = try await store.submit(submission(number, of: 7)) }
        var cursor = try await begin(store)
        try await store.write { session throws(StoreError) in
            let limit = try Changes.limit(in: session)
            while try Changes.prune(below: limit, in: session) {}
        }
        let left = try await store.read { session throws(StoreError) in
            try session.run("SELECT count(*) FROM changes").first?.first?.integer
        }
        #expect(left == 1)
        _ = try await store.submit(submission(6, of: 8))
        #expect(try await read(store, &cursor) == [8])
        store.close()
    }

    @Test(
        "with PostgreSQL, what is committed late is told late, and nothing twice while another program's transaction lasts",
        .enabled(if: Workshop.Kind.available.contains(.postgres)))
    func late() async throws {
        let workshop = try Workshop(.postgres)
        let store = try workshop.open()
        let late = try PostgresSession(address: workshop.database, prepare: false)
        let other = try PostgresSession(address: workshop.database, prepare: false)
        var cursor = try await begin(store)
        // It has a number of its own, and never ends.
        try other.execute("BEGIN; SELECT pg_current_xact_id()")
        try late.execute("BEGIN; INSERT INTO changes(devices) VALUES ('5')")
        _ = try await store.submit(submission(1, of: 7))
        #expect(try await read(store, &cursor) == [7])
        #expect(try await read(store, &cursor) == [])
        try late.execute("COMMIT")
        _ = try await store.submit(submission(2, of: 8))
        #expect(try await read(store, &cursor) == [5, 8])
        #expect(try await read(store, &cursor) == [])
        // Minutes later no transaction of ours is looked back for.
        let first = cursor.first
        #expect(try await read(store, &cursor, later: .seconds(200)) == [])
        #expect(try await read(store, &cursor, later: .seconds(400)) == [])
        #expect(cursor.first >= first)
        #expect(try await read(store, &cursor, later: .seconds(600)) == [])
        #expect(try await read(store, &cursor, later: .seconds(800)) == [])
        #expect(cursor.first > first)
        _ = try await store.submit(submission(3, of: 9))
        #expect(try await read(store, &cursor, later: .seconds(801)) == [9])
        store.close()
    }

    @Test(
        "rows of another cluster, which a backup has brought, are told to nobody, and removed",
        .enabled(if: Workshop.Kind.available.contains(.postgres)))
    func foreign() async throws {
        let workshop = try Workshop(.postgres)
        let store = try workshop.open()
        var cursor = try await begin(store)
        _ = try await store.write { session throws(StoreError) in
            try session.run("INSERT INTO changes VALUES (4000000000000, '5')")
        }
        _ = try await store.submit(submission(1, of: 7))
        #expect(try await read(store, &cursor) == [7])
        _ = try await store.write { session throws(StoreError) in try Changes.prune(below: 0, in: session) }
        let left = try await store.read { session throws(StoreError) in
            try session.run("SELECT devices FROM changes").compactMap { $0[0].text }
        }
        #expect(left == ["7"])
        store.close()
    }
}

@Suite("tokens that end while uploads are under way") struct RevocationTests {
    private func submission(_ number: Int, of device: Int64, since known: Int64?) -> Submission {
        var submission = Submission(
            device: device, batch: Samples.batch(number, from: number * 10, count: 2), received: Samples.now)
        submission.nextRevocation = known
        return submission
    }

    /// As whoever ends the tokens of a device does.
    private func end(_ device: Int64, in store: Store) async throws {
        _ = try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                try session.excludeUploads()
                try Revocations.note(device, in: session)
            }
        }
    }

    private func stored(_ store: Store) async throws -> [Int64?] {
        try await store.read { session throws(StoreError) in
            try session.run("SELECT device FROM locations ORDER BY device").map { $0[0].integer }
        }
    }

    @Test(
        "nothing is stored that came with a token that has ended since, and the others of its group are",
        arguments: Workshop.Kind.available)
    func refused(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let known = try await store.read { session throws(StoreError) in try Revocations.limit(in: session) }
        #expect(try await store.submit(submission(1, of: 7, since: known)) == Receipt(stored: 2))
        try await end(7, in: store)
        // Some of them are of one group.
        let receipts = try await withThrowingTaskGroup(of: (Int, Receipt).self) { group in
            for number in 2..<22 {
                let submission = submission(number, of: number % 2 == 0 ? 7 : 8, since: known)
                group.addTask { (number, try await store.submit(submission)) }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (number, receipt) in receipts {
            #expect(receipt.isRefused == (number % 2 == 0) && receipt.stored == (number % 2 == 0 ? 0 : 2))
        }
        #expect(try await stored(store).count { $0 == 7 } == 2)
        #expect(try await stored(store).count { $0 == 8 } == 20)
        // A token that was judged since then is another.
        #expect(try await store.submit(submission(30, of: 7, since: known + 1)) == Receipt(stored: 2))
        #expect(try await store.submit(submission(31, of: 7, since: nil)) == Receipt(stored: 2))
        // So it is with logs.
        let log = try await store.write { session throws(StoreError) in
            (
                try DeviceLogs.add("x", of: 7, since: known, now: Samples.now, in: session),
                try DeviceLogs.add("y", of: 7, since: known + 1, now: Samples.now, in: session)
            )
        }
        #expect(log == (false, true))
        let texts = try await store.read { session throws(StoreError) in
            try session.run("SELECT text FROM logs").compactMap { $0[0].text }
        }
        #expect(texts == ["y"])
        try await store.write { session throws(StoreError) in
            try Revocations.prune(below: known, in: session)
            #expect(try session.run("SELECT 1 FROM revocations").count == 1)
            try Revocations.prune(below: known + 1, in: session)
            #expect(try session.run("SELECT 1 FROM revocations").isEmpty)
        }
        store.close()
    }

    @Test(
        "with PostgreSQL, whoever ends tokens waits for the uploads of all servers that are under way",
        .enabled(if: Workshop.Kind.available.contains(.postgres)))
    func waits() async throws {
        let workshop = try Workshop(.postgres)
        // The upload waits as long as it takes: one that asked again would come behind the end of the tokens.
        let stores = [
            try workshop.open(options: "-c lock_timeout=0 -c statement_timeout=0"), try workshop.open(),
        ]
        // An upload of another server, before its commit: a lock that it waits for is another's.
        let holder = try PostgresSession(address: workshop.database, prepare: false)
        _ = try await stores[0].submit(submission(1, of: 7, since: 1))
        try holder.execute("BEGIN; UPDATE presence SET seen = seen WHERE device = 7")
        async let upload = stores[0].submit(submission(2, of: 7, since: 1))
        let watcher = try PostgresSession(address: workshop.database, prepare: false)
        try await wait(watcher, for: "transactionid")
        async let ended: Void = again { try await end(7, in: stores[1]) }
        try await wait(watcher, for: "advisory")
        try holder.execute("COMMIT")
        // What was under way is stored before the end of the tokens is answered.
        #expect(try await upload == Receipt(stored: 2))
        try await ended
        #expect(try await stores[0].submit(submission(3, of: 7, since: 1)).isRefused)
        #expect(try await stores[1].submit(submission(4, of: 7, since: 2)) == Receipt(stored: 2))
        for store in stores { store.close() }
    }

    /// As often as it has waited too long for a lock.
    private func again<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        while true {
            do {
                return try await body()
            } catch let error as StoreError {
                guard error.kind == .unavailable else { throw error }
            }
        }
    }

    /// Until somebody waits for a lock of that kind in this database.
    private func wait(_ session: PostgresSession, for kind: String) async throws {
        let deadline = ContinuousClock.now + .seconds(300)
        while try session.query(
            """
            SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE NOT granted AND locktype = $1 AND datname = current_database()
            """, [.text(kind)]
        ).isEmpty {
            guard ContinuousClock.now < deadline else {
                Issue.record("nobody waits for a lock of the kind \(kind)")
                return
            }
            await Task.yield()
        }
    }
}
