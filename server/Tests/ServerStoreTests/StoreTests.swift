import Base
import EnvelopeReader
import SQLite
import Testing

@testable import ServerStore

extension Store {
    /// Number of rows of a table.
    fileprivate func count(_ table: String) async throws -> Int64 {
        try await read { session throws(StoreError) in
            try session.run("SELECT count(*) FROM \(table)").first?.first?.integer ?? -1
        }
    }

    fileprivate func locations(of device: Int64) async throws -> [StoredLocation] {
        try await addDevice(device)
        return try await read { session throws(StoreError) in
            try Reading.locations(
                of: device, for: .everything, in: Timestamp(milliseconds: 0)...Timestamp(milliseconds: .max),
                after: nil,
                limit: 10_000,
                from: session)
        }
    }
}

extension Store {
    fileprivate func submit(
        _ batch: Batch, device: Int64 = 7, keptSince: Timestamp? = nil
    ) async throws -> Receipt {
        try await submit(
            Submission(device: device, batch: batch, received: Samples.now, keptSince: keptSince))
    }
}

@Suite("the store") struct StoreTests {
    @Test("what is stored reads back as it was sent", arguments: Workshop.Kind.available) func roundTrip(
        _ kind: Workshop.Kind
    ) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let batch = Samples.batch(1, count: 100, extras: #"{"driver":"7"}"#, events: 2)
        #expect(try await store.submit(batch) == Receipt(stored: 102))
        let found = try await store.locations(of: 7)
        #expect(found.map(\.row) == batch.locations)
        #expect(found.allSatisfy { $0.session == batch.session && $0.extras == found.first?.extras })
        let digest = try #require(found.first?.extras)
        let extras = try await store.read { session throws(StoreError) in
            try Reading.extras(digest, of: 7, for: .everything, from: session)
        }
        #expect(extras == #"{"driver":"7"}"#)
        #expect(try await store.count("events") == 2)
        #expect(try await store.count("extras") == 1)
        store.close()
    }

    @Test(
        "a batch that comes again is answered and changes nothing, also for another device",
        arguments: Workshop.Kind.available)
    func again(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let batch = Samples.batch(1, count: 10, events: 1)
        _ = try await store.submit(batch)
        #expect(try await store.submit(batch) == Receipt(duplicates: 11))
        #expect(try await store.submit(batch, device: 8) == Receipt(stored: 11))
        #expect(try await store.count("locations") == 20)
        store.close()
    }

    @Test(
        "rows that come in another batch are stored once, and counted for that batch",
        arguments: Workshop.Kind.available)
    func overlap(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.submit(Samples.batch(1, from: 0, count: 10))
        #expect(
            try await store.submit(Samples.batch(2, from: 5, count: 10)) == Receipt(stored: 5, duplicates: 5))
        #expect(try await store.locations(of: 7).count == 15)
        store.close()
    }

    @Test(
        "the same batch from fifty clients at once is stored once, and all are answered",
        arguments: Workshop.Kind.available)
    func herd(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let batch = Samples.batch(1, count: 40)
        let receipts = try await withThrowingTaskGroup(of: Receipt.self) { group in
            for _ in 0..<50 { group.addTask { try await store.submit(batch) } }
            return try await group.reduce(into: [Receipt]()) { $0.append($1) }
        }
        #expect(receipts.count == 50)
        #expect(receipts.reduce(0) { $0 + $1.stored } == 40)
        #expect(receipts.allSatisfy { $0.stored + $0.duplicates == 40 })
        #expect(try await store.count("locations") == 40)
        store.close()
    }

    @Test(
        "rows from before the retention are acknowledged, counted and not stored",
        arguments: Workshop.Kind.available)
    func retention(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let batch = Samples.batch(1, count: 10)
        let receipt = try await store.submit(batch, keptSince: batch.locations[4].time)
        #expect(receipt == Receipt(stored: 6, expired: 4))
        let old = try await store.submit(Samples.batch(2, count: 3), keptSince: Samples.now)
        #expect(old == Receipt(expired: 3))
        #expect(try await store.count("batches") == 1)
        store.close()
    }

    @Test(
        "what is older than the retention goes, with PostgreSQL week by week, and the rest stays",
        arguments: Workshop.Kind.available)
    func pruning(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.write { session throws(StoreError) in
            try session.run("INSERT INTO devices(id, name, created) VALUES (7, 'van', 1)")
        }
        let week = 7 * 86_400.0
        for age in 0..<4 {
            let start = Samples.now.advanced(bySeconds: -week * Double(age))
            var batch = Samples.batch(age, count: 0)
            batch.id = Samples.id(start, age)
            batch.locations = (0..<1500).map {
                Samples.location($0, at: start.advanced(bySeconds: -Double($0) / 10))
            }
            _ = try await store.submit(batch)
        }
        let before = Samples.now.advanced(bySeconds: -week * 1.5)
        try await store.prune(before: before)
        let left = try await store.locations(of: 7)
        #expect(left.count { $0.row.time >= before } == 3000)
        let oldest = kind == .sqlite ? before : before.advanced(bySeconds: -week)
        #expect(left.count < 6000 && left.allSatisfy { $0.row.time >= oldest })
        #expect(try await store.count("batches") < 4)
        // A week that was dropped comes back when it is needed.
        var late = Samples.batch(9, count: 0)
        late.locations = [Samples.location(1, at: Samples.now.advanced(bySeconds: -week * 3))]
        #expect(try await store.submit(late, device: 8) == Receipt(stored: 1))
        store.close()
    }

    @Test(
        "the latest position is the newest by fix time, whatever comes last",
        arguments: Workshop.Kind.available) func latest(_ kind: Workshop.Kind) async throws
    {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.write { session throws(StoreError) in
            try session.run("INSERT INTO devices(id, name, created) VALUES (7, 'van', 1)")
        }
        _ = try await store.submit(Samples.batch(1, from: 100, count: 10))
        _ = try await store.submit(Samples.batch(2, from: 0, count: 10))
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, limit: 10, from: session)
        }
        #expect(devices.first?.latest == Samples.batch(1, from: 100, count: 10).locations.last)
        #expect(devices.first?.facts?.version == "1.2.3")
        #expect(devices.first?.seen == Samples.now)
        store.close()
    }

    @Test(
        "pages follow each other without a gap and without a repetition", arguments: Workshop.Kind.available)
    func pages(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        // Three at each moment, so that pages break between rows of one time.
        var batch = Samples.batch(1, count: 0)
        batch.locations = (0..<60).map {
            Samples.location($0, at: Samples.now.advanced(bySeconds: Double($0 / 3)))
        }
        _ = try await store.submit(batch)
        try await store.addDevice(7)
        var (seen, place): ([UUIDv7], Reading.Place?) = ([], nil)
        while true {
            let after = place
            let page = try await store.read { session throws(StoreError) in
                try Reading.locations(
                    of: 7, for: .everything, in: Samples.now...Samples.now.advanced(bySeconds: 18),
                    after: after, limit: 7,
                    from: session)
            }
            guard let last = page.last else { break }
            seen += page.map(\.row.id)
            place = Reading.Place(time: last.row.time, id: last.row.id)
        }
        #expect(seen == batch.locations.prefix(57).map(\.id))
        store.close()
    }

    @Test("a second process is told that the file is open, and the file of another program is left alone")
    func guards() throws {
        let workshop = try Workshop(.sqlite)
        defer { workshop.remove() }
        let store = try workshop.open()
        #expect(throws: StoreError.self) { try workshop.open() }
        store.close()
        let foreign = try Workshop(.sqlite)
        defer { foreign.remove() }
        try Connection(path: foreign.database, access: .readWrite).execute("CREATE TABLE t(x)")
        #expect(throws: StoreError.self) { try foreign.open() }
    }

    @Test(
        "a closed store refuses, and one that is opened again has everything",
        arguments: Workshop.Kind.available)
    func reopening(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.submit(Samples.batch(1, count: 10))
        store.close()
        await #expect(throws: StoreError.self) { try await store.submit(Samples.batch(2, count: 1)) }
        let again = try workshop.open()
        #expect(try await again.locations(of: 7).count == 10)
        again.close()
    }

    @Test("a statement that is refused harms nothing that comes after it", arguments: Workshop.Kind.available)
    func refusal(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        await #expect(throws: StoreError.self) {
            try await store.write { session throws(StoreError) in
                try session.transaction { () throws(StoreError) in
                    try session.run("INSERT INTO devices(id, name, created) VALUES (1, 'a', 1)")
                    try session.run("SELECT nothing FROM nowhere")
                }
            }
        }
        #expect(try await store.count("devices") == 0)
        #expect(try await store.submit(Samples.batch(1, count: 1)) == Receipt(stored: 1))
        store.close()
    }

    @Test(
        "batches of many devices from two servers on the same rows, in any order: each row once, and no deadlock",
        .enabled(if: Workshop.Kind.available.contains(.postgres), "no PostgreSQL was started"))
    func twoServers() async throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let stores = [try workshop.open(), try workshop.open()]
        // The same 20 batches for 10 devices, with rows in common between neighbours, to both servers.
        let work = (0..<200).flatMap { number in stores.map { ($0, number) } }.shuffled()
        let stored = try await withThrowingTaskGroup(of: Int.self) { group in
            for (store, number) in work {
                group.addTask {
                    let batch = Samples.batch(number, from: number / 10 * 10, count: 15)
                    return try await store.submit(batch, device: Int64(number % 10)).stored
                }
            }
            return try await group.reduce(0, +)
        }
        // 20 batches of 15 rows, each beginning 10 rows after the one before it: 205 rows a device.
        #expect(stored == 2050)
        #expect(try await stores[0].count("locations") == 2050)
        for store in stores { store.close() }
    }
}

@Suite("the queue of work") struct WorkQueueTests {
    /// When all of a test begin to wait: between two of them a busy machine may let more time pass than a line allows.
    private let start = ContinuousClock.now

    private func waiting(_ rows: Int, since: ContinuousClock.Instant? = nil) -> WorkQueue.Waiting {
        let since = since ?? start
        return WorkQueue.Waiting(
            submission: Submission(device: 1, batch: Samples.batch(1, count: rows), received: Samples.now),
            reply: { _ in }, since: since, due: since + .seconds(60))
    }

    private func job() -> WorkQueue.Job {
        WorkQueue.Job(run: { _, _ in true }, fail: { _ in }, due: .now + .seconds(60))
    }

    @Test("groups hold as many rows as they may, and at least one batch") func groups() {
        var queue = WorkQueue(WorkQueue.Bounds(rows: 1000, jobs: 2, group: 100))
        for rows in [60, 40, 1, 200, 5] { #expect(queue.add(waiting(rows)) == nil) }
        var sizes: [[Int]] = []
        while case .group(let group)? = queue.take() { sizes.append(group.map(\.submission.rows)) }
        #expect(sizes == [[60, 40], [1], [200], [5]])
    }

    @Test("what is too much is refused, and room comes back") func bounds() {
        var queue = WorkQueue(WorkQueue.Bounds(rows: 100, jobs: 1, group: 100))
        #expect(queue.add(waiting(50)) == nil)
        #expect(queue.add(waiting(49)) == WorkQueue.full)
        #expect(queue.add(waiting(48)) == nil)
        #expect(queue.add(waiting(0)) == WorkQueue.full)
        _ = queue.take()
        #expect(queue.add(waiting(99)) == nil)
        #expect(queue.add(job()) == nil)
        #expect(queue.add(job()) == WorkQueue.full)
    }

    @Test("while the first of a line has waited long, nobody joins it") func delay() {
        var queue = WorkQueue(WorkQueue.Bounds(rows: 1000, delay: .milliseconds(400), jobs: 1, group: 1))
        #expect(queue.add(waiting(1, since: start)) == nil)
        #expect(queue.add(waiting(1, since: start + .milliseconds(400))) == nil)
        #expect(queue.refusal(now: start + .milliseconds(401)) == WorkQueue.full)
        #expect(queue.add(waiting(1, since: start + .milliseconds(401))) == WorkQueue.full)
        _ = queue.take()
        #expect(queue.add(waiting(1, since: start + .milliseconds(800))) == nil)
        #expect(queue.refusal(now: start + .milliseconds(801)) == WorkQueue.full)
        _ = (queue.take(), queue.take())
        #expect(queue.refusal(now: start + .seconds(60)) == nil)
    }

    @Test("jobs and groups take turns; a queue that was closed is emptied first") func turns() {
        var queue = WorkQueue(WorkQueue.Bounds(rows: 1000, jobs: 10, group: 1))
        for _ in 0..<2 {
            #expect(queue.add(waiting(1)) == nil)
            #expect(queue.add(job()) == nil)
        }
        queue.close()
        #expect(queue.add(job()) == WorkQueue.ending)
        var order = ""
        loop: while let work = queue.take() {
            switch work {
            case .job: order += "j"
            case .group: order += "g"
            case .end: break loop
            }
        }
        #expect(order == "jgjg")
    }

    @Test("who asks is looked up while lists keep all other readers busy", arguments: Workshop.Kind.available)
    func lookUps(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let (begun, ended) = (Monitor(0), Monitor(false))
        try await withThrowingTaskGroup(of: Void.self) { group in
            // More than there are readers.
            for _ in 0..<4 {
                group.addTask {
                    try await store.read { _ throws(StoreError) in
                        begun.change { $0 += 1 }
                        _ = ended.wait { $0 ? true : nil }
                    }
                }
            }
            let deadline = ContinuousClock.now + .seconds(300)
            while begun.look({ $0 < 2 }) {
                try #require(ContinuousClock.now < deadline)
                await Task.yield()
            }
            let found = try await store.look { session throws(StoreError) in try session.run("SELECT 1").count
            }
            #expect(found == 1)
            #expect(begun.look { $0 == 2 })
            ended.change { $0 = true }
            try await group.waitForAll()
        }
        store.close()
    }
}
