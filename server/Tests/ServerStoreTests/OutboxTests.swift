import Base
import EnvelopeReader
import Testing

@testable import ServerStore

@Suite("what waits to be forwarded") struct OutboxTests {
    private let now = Samples.now.advanced(bySeconds: 10)

    private func store(_ kind: Workshop.Kind) async throws -> (Workshop, Store) {
        let workshop = try Workshop(kind)
        let store = try workshop.open()
        for device: Int64 in [7, 8] { try await store.addDevice(device) }
        return (workshop, store)
    }

    private func submission(
        _ number: Int, of device: Int64 = 7, count: Int = 2, targets: [String] = ["a", "b"]
    ) -> Submission {
        var submission = Submission(
            device: device, batch: Samples.batch(number, from: number * 10, count: count),
            received: Samples.now)
        submission.forwarding = Forwarding(
            envelope: Array("\(number)".utf8), isPacked: false, targets: targets)
        return submission
    }

    private func next(_ target: String, in store: Store) async throws -> [Outbox.Parcel] {
        try await store.read { session throws(StoreError) in
            try Outbox.next(for: target, now: now, age: now, from: session)
        }
    }

    /// Other tests have transactions under way in the same cluster.
    private func next(_ target: String, _ count: Int, in store: Store) async throws -> [Outbox.Parcel] {
        let end = ContinuousClock.now + .seconds(300)
        while .now < end {
            let parcels = try await next(target, in: store)
            if parcels.count == count { return parcels }
            await Task.yield()
        }
        return try await next(target, in: store)
    }

    private func facts(in store: Store) async throws -> [String: Outbox.Facts] {
        try await store.read { session throws(StoreError) in try Outbox.facts(from: session) }
    }

    @Test("the thread that keeps locks begins with the first one", arguments: Workshop.Kind.available)
    func locks(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        func isMine(_ store: Store) async throws -> Bool {
            try await store.lock { session throws(StoreError) in try Outbox.isMine("a", in: session) }
        }
        #expect(!store.hasLocker)
        for _ in 0..<2 { #expect(try await isMine(store)) }
        #expect(store.hasLocker)
        if kind == .postgres {
            let other = try workshop.open()
            #expect(try await !isMine(other))
            other.close()
        }
        store.close()
        #expect(!store.hasLocker)
        await #expect(throws: StoreError.self) { _ = try await isMine(store) }
        // One that was never asked for is not waited for.
        try workshop.open().close()
    }

    @Test("each target has its own, in order, until it has acknowledged", arguments: Workshop.Kind.available)
    func targets(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for number in 1...3 { _ = try await store.submit(submission(number, of: number == 2 ? 8 : 7)) }
        // What comes again, and what has no rows.
        _ = try await store.submit(submission(3))
        _ = try await store.submit(submission(4, count: 0))
        let parcels = try await next("a", 3, in: store)
        #expect(parcels.map { String(decoding: $0.body, as: UTF8.self) } == ["1", "2", "3"])
        #expect(parcels.map(\.id) == [1, 2, 3].map { "\(Samples.id(Samples.now, 500_000 + $0))" })
        #expect(parcels.map(\.key.device) == [7, 8, 7] && parcels.map(\.rows) == [2, 2, 2])
        #expect(parcels[1].deviceName == "device 8")
        let keys = parcels.prefix(2).map(\.key)
        for _ in 0..<2 {
            try await store.write { session throws(StoreError) in
                try Outbox.acknowledge(keys, of: "a", in: session)
            }
        }
        #expect(try await next("a", 1, in: store).map(\.key) == [parcels[2].key])
        #expect(try await next("b", 3, in: store).count == 3)
        let facts = try await facts(in: store)
        #expect(facts["a"]?.waiting == Outbox.Facts.Count(batches: 1, rows: 2))
        #expect(facts["a"]?.counts == [.forwarded: Outbox.Facts.Count(batches: 2, rows: 4)])
        #expect(facts["b"]?.waiting == Outbox.Facts.Count(batches: 3, rows: 6) && facts["b"]?.counts == [:])
        store.close()
    }

    @Test(
        "what is refused comes later, and what is due later than can be at once",
        arguments: Workshop.Kind.available)
    func postponed(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for number in 1...3 { _ = try await store.submit(submission(number)) }
        let keys = try await next("a", 3, in: store).map(\.key)
        let due = [now.advanced(bySeconds: 60), now.advanced(bySeconds: 86_400)]
        try await store.write { session throws(StoreError) in
            try Outbox.postpone(
                [(keys[0], due[0], "answered 413"), (keys[1], due[1], "answered 413")], in: session)
        }
        let parcels = try await next("a", 2, in: store)
        #expect(parcels.map(\.key) == [keys[1], keys[2]] && parcels.map(\.attempts) == [1, 0])
        let facts = try await facts(in: store)["a"]
        #expect(facts?.refused == 2 && facts?.refusal == "answered 413")
        store.close()
    }

    @Test("the oldest are dropped, for their age and for their size", arguments: Workshop.Kind.available)
    func dropped(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for number in 1...5 {
            var submission = submission(number, targets: ["a"])
            submission.age = Samples.now.advanced(bySeconds: Double(number))
            submission.forwarding?.envelope = [UInt8](repeating: 32, count: 100)
            _ = try await store.submit(submission)
        }
        let dropped = try await store.write { session throws(StoreError) in
            try Outbox.drop(
                of: "a", before: Samples.now.advanced(bySeconds: 3), excess: 250, in: session)
        }
        #expect(dropped == (2, 1, 300))
        let facts = try await facts(in: store)["a"]
        #expect(facts?.waiting.batches == 2 && facts?.size == 200)
        #expect(facts?.since == Samples.now.advanced(bySeconds: 4))
        #expect(facts?.counts[.tooOld]?.rows == 4 && facts?.counts[.tooMany]?.rows == 2)
        store.close()
    }

    @Test(
        "what waits for a target that nobody has any more is dropped for its age, and counted",
        arguments: Workshop.Kind.available)
    func forgotten(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for number in 1...3 {
            var submission = submission(number, targets: ["gone", "kept"])
            submission.age = Samples.now.advanced(bySeconds: Double(number))
            _ = try await store.submit(submission)
        }
        func drop() async throws -> (target: String, count: Int)? {
            try await store.write { session throws(StoreError) in
                try Outbox.dropForgotten(
                    before: Samples.now.advanced(bySeconds: 3), but: ["kept"], in: session)
            }
        }
        let dropped = try await drop()
        #expect(dropped?.target == "gone" && dropped?.count == 2)
        #expect(try await drop() == nil)
        let facts = try await facts(in: store)
        #expect(facts["gone"]?.waiting.batches == 1 && facts["gone"]?.counts[.tooOld]?.batches == 2)
        #expect(facts["kept"]?.waiting.batches == 3 && facts["kept"]?.counts == [:])
        store.close()
    }

    @Test(
        "a vehicle that is deleted leaves nothing, and nothing of it is sent",
        arguments: Workshop.Kind.available)
    func deleted(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for device: Int64 in [7, 8] { _ = try await store.submit(submission(1, of: device)) }
        _ = try await next("a", 2, in: store)
        try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                _ = try Removal.begin(7, now: now, in: session)
            }
        }
        #expect(try await next("a", in: store).map(\.key.device) == [8])
        while try await store.write({ session throws(StoreError) in
            try Removal.advance(now: now, in: session)
        }) == .more {}
        let facts = try await facts(in: store)
        for target in ["a", "b"] {
            #expect(facts[target]?.waiting.batches == 1)
            #expect(facts[target]?.counts == [.deleted: Outbox.Facts.Count(batches: 1, rows: 2)])
        }
        store.close()
    }

    @Test("no more is read at once than fits into memory", arguments: Workshop.Kind.available)
    func bounded(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await store(kind)
        defer { workshop.remove() }
        for number in 1...5 {
            var submission = submission(number, targets: ["a"])
            submission.forwarding?.envelope = [UInt8](repeating: 32, count: 3 << 20)
            _ = try await store.submit(submission)
        }
        #expect(try await next("a", 2, in: store).count == 2)
        for number in 6...80 { _ = try await store.submit(submission(number, targets: ["c"])) }
        #expect(try await next("c", Outbox.most, in: store).count == Outbox.most)
        store.close()
    }
}
