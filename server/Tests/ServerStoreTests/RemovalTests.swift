import Base
import EnvelopeReader
import Testing

@testable import ServerStore

@Suite("vehicles that are deleted") struct RemovalTests {
    private func workshop(_ kind: Workshop.Kind) async throws -> (Workshop, Store) {
        let workshop = try Workshop(kind)
        let store = try workshop.open()
        for device: Int64 in [7, 8] {
            try await store.addDevice(device)
            for number in 0..<3 {
                // Of three weeks.
                var batch = Samples.batch(number, count: 0, extras: "{\"number\":\"\(number)\"}", events: 1)
                batch.locations = (0..<900).map {
                    Samples.location(
                        number * 10_000 + $0,
                        at: Samples.now.advanced(bySeconds: -604_800 * Double(number) - Double($0)))
                }
                _ = try await store.submit(Submission(device: device, batch: batch, received: Samples.now))
            }
        }
        return (workshop, store)
    }

    private func rows(of device: Int64, in store: Store) async throws -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for table in ["locations", "events", "batches", "extras", "latest", "presence", "installations"] {
            let count = try await store.read { session throws(StoreError) in
                try session.run("SELECT count(*) FROM \(table) WHERE device = $1", .integer(device))
            }.first?.first?.integer
            counts[table] = count
        }
        return counts
    }

    private func begin(_ device: Int64, in store: Store) async throws -> Bool {
        try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                try Removal.begin(device, now: Samples.now, in: session)
            }
        }
    }

    private func advance(_ seconds: Double = 0, in store: Store) async throws -> Removal.Outcome {
        try await store.write { session throws(StoreError) in
            try Removal.advance(now: Samples.now.advanced(bySeconds: seconds), in: session)
        }
    }

    private func count(in store: Store) async throws -> Int64 {
        try await store.read { session throws(StoreError) in try Removal.count(in: session) }
    }

    @Test(
        "rows go a thousand at a time, through all weeks, and those of others stay",
        arguments: Workshop.Kind.available)
    func steps(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await workshop(kind)
        defer { workshop.remove() }
        let others = try await rows(of: 8, in: store)
        #expect(others["locations"] == 2700 && others["batches"] == 3 && others["extras"] == 3)
        #expect(try await advance(in: store) == .idle)
        #expect(try await begin(7, in: store))
        #expect(try await !begin(7, in: store))
        // Seen by nobody from then on.
        let seen = try await store.read { session throws(StoreError) in
            try (
                Reading.devices(for: .everything, limit: 10, from: session).map(\.id),
                Viewer.everything.sees(7, in: session)
            )
        }
        #expect(seen == ([8], false))
        var left: [Int64] = []
        while try await advance(in: store) == .more {
            left.append(try await rows(of: 7, in: store)["locations"] ?? -1)
        }
        #expect(Array(left.prefix(3)) == [1700, 700, 0])
        #expect(try await rows(of: 7, in: store).values.allSatisfy { $0 == 0 })
        #expect(try await rows(of: 8, in: store) == others)
        store.close()
    }

    @Test(
        "what an upload that was under way has stored meanwhile goes, too; only then it is done",
        arguments: Workshop.Kind.available)
    func late(_ kind: Workshop.Kind) async throws {
        let (workshop, store) = try await workshop(kind)
        defer { workshop.remove() }
        _ = try await begin(7, in: store)
        while try await advance(in: store) == .more {}
        #expect(try await advance(299, in: store) == .idle)
        #expect(try await count(in: store) == 1)
        _ = try await store.submit(
            Submission(device: 7, batch: Samples.batch(99, count: 5), received: Samples.now))
        while try await advance(300, in: store) == .more {}
        #expect(try await rows(of: 7, in: store).values.allSatisfy { $0 == 0 })
        #expect(try await count(in: store) == 0)
        store.close()
    }

    @Test(
        "several servers have each a device of its own",
        .enabled(if: Workshop.Kind.available.contains(.postgres)))
    func several() async throws {
        let (workshop, store) = try await workshop(.postgres)
        defer { workshop.remove() }
        for device: Int64 in [7, 8] { _ = try await begin(device, in: store) }
        let others = try (0..<2).map { _ in try workshop.open() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for server in [store] + others {
                group.addTask {
                    while try await self.count(in: server) > 0 { _ = try await self.advance(300, in: server) }
                }
            }
            try await group.waitForAll()
        }
        for device: Int64 in [7, 8] {
            #expect(try await rows(of: device, in: store).values.allSatisfy { $0 == 0 })
        }
        for server in [store] + others { server.close() }
    }
}
