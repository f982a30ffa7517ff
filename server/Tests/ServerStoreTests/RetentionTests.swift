import Base
import EnvelopeReader
import Testing

@testable import ServerStore

/// What retention covers beside rows: all that says where somebody was, or what they did.
@Suite("retention") struct RetentionTests {
    /// Everything is kept from here on. Long enough before `Samples.now` for whole weeks to go.
    private static let before = Samples.now.advanced(bySeconds: -50 * 86_400)
    private static let old = Samples.now.advanced(bySeconds: -100 * 86_400)

    private func prune(_ store: Store) async throws {
        try await store.prune(before: Self.before)
    }

    private func rows(_ store: Store, _ sql: String) async throws -> [[Cell]] {
        try await store.read { session throws(StoreError) in try session.run(sql) }
    }

    /// Three rows of one moment with a status, and extras of their own.
    private func submission(device: Int64, _ number: Int, at time: Timestamp) -> Submission {
        var batch = Samples.batch(number, count: 0, extras: #"{"driver":"\#(number)"}"#)
        batch.id = Samples.id(time, number)
        batch.locations = (0..<3).map { Samples.location(number * 10 + $0, at: time) }
        batch.remarks.status = Array(#"{"state":"tracking"}"#.utf8)
        return Submission(device: device, batch: batch, received: time.advanced(bySeconds: 1))
    }

    private func open(_ workshop: Workshop) async throws -> Store {
        let store = try workshop.open()
        try await store.write { session throws(StoreError) in
            for device in [7, 8] as [Int64] {
                try session.run(
                    "INSERT INTO devices(id, name, created) VALUES ($1, $2, 1)", .integer(device),
                    .text("van \(device)"))
            }
        }
        return store
    }

    @Test(
        "of a vehicle that is silent, what is too old goes, but for when it was heard of",
        arguments: Workshop.Kind.available)
    func silent(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        _ = try await store.submit(submission(device: 7, 1, at: Self.old))
        _ = try await store.submit(submission(device: 8, 2, at: Samples.now))
        try await prune(store)
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, limit: 10, from: session)
        }
        #expect(devices.map { $0.latest != nil } == [false, true])
        #expect(devices.map { $0.status != nil } == [false, true])
        #expect(devices.map { $0.facts?.version } == [nil, "1.2.3"])
        #expect(devices.first?.seen == Self.old.advanced(bySeconds: 1))
        // Nor is it in the database.
        let install = try await rows(
            store, "SELECT count(*) FROM presence p JOIN presence q ON p.install_id = q.install_id")
        #expect(install == [[.integer(2)]])
        let left = try await rows(
            store, "SELECT platform, version, model, status, status_time FROM presence WHERE device = 7")
        #expect(left == [[.text(""), .text(""), .null, .null, .null]])
        // It comes back.
        _ = try await store.submit(submission(device: 7, 3, at: Samples.now))
        let again = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, only: 7, limit: 1, from: session)
        }
        #expect(again.first?.latest != nil && again.first?.facts?.version == "1.2.3")
        store.close()
    }

    @Test(
        "a status that is too old goes, though the vehicle was heard of since",
        arguments: Workshop.Kind.available) func status(_ kind: Workshop.Kind) async throws
    {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        _ = try await store.submit(submission(device: 7, 1, at: Self.old))
        var later = submission(device: 7, 2, at: Samples.now)
        later.batch.remarks.status = nil
        _ = try await store.submit(later)
        try await prune(store)
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, only: 7, limit: 1, from: session)
        }
        #expect(devices.first?.status == nil && devices.first?.facts?.version == "1.2.3")
        store.close()
    }

    @Test("extras go with the last row that has them", arguments: Workshop.Kind.available)
    func extras(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        for (number, time) in [(1, Self.old), (2, Samples.now)] {
            _ = try await store.submit(submission(device: 7, number, at: time))
        }
        // Old and new rows with the same.
        for (number, time) in [(3, Samples.now), (4, Self.old)] {
            var both = submission(device: 7, number, at: time)
            both.batch.extras = Array(#"{"driver":"always"}"#.utf8)
            _ = try await store.submit(both)
        }
        try await prune(store)
        let texts = try await rows(store, "SELECT text FROM extras ORDER BY text")
        #expect(texts == [[.text(#"{"driver":"2"}"#)], [.text(#"{"driver":"always"}"#)]])
        let locations = try await store.read { session throws(StoreError) in
            try Reading.locations(
                of: 7, for: .everything, in: Self.before...Samples.now, after: nil, limit: 100, from: session)
        }
        #expect(locations.count == 6 && locations.allSatisfy { $0.extras != nil })
        store.close()
    }

    @Test("logs and results of commands go", arguments: Workshop.Kind.available)
    func logs(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        for time in [Self.old, Samples.now] {
            try await store.write { session throws(StoreError) in
                _ = try DeviceLogs.add("log", of: 7, since: nil, now: time, in: session)
                try session.run(
                    """
                    INSERT INTO commands(device, number, name, arguments, author, expires, finished, result)
                    VALUES (7, $1, 'locate', '{}', 'ada', $1, $1, '{"status":"ok"}')
                    """, .integer(time.milliseconds))
            }
        }
        try await prune(store)
        #expect(try await rows(store, "SELECT received FROM logs") == [[.integer(Samples.now.milliseconds)]])
        let commands = try await rows(store, "SELECT number, finished, result FROM commands ORDER BY number")
        // That it was done is kept: its number is never used again, and it was not withdrawn.
        #expect(
            commands == [
                [.integer(Self.old.milliseconds), .integer(Self.old.milliseconds), .text("{}")],
                [
                    .integer(Samples.now.milliseconds), .integer(Samples.now.milliseconds),
                    .text(#"{"status":"ok"}"#),
                ],
            ])
        store.close()
    }

    @Test("more than one step holds goes, too", arguments: Workshop.Kind.available)
    func many(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        let count = 2 * Retention.step + 1
        try await store.write { session throws(StoreError) in
            try session.transaction { () throws(StoreError) in
                for number in 0..<count {
                    try session.run(
                        "INSERT INTO logs VALUES (7, $1, 'log')",
                        .integer(Self.old.milliseconds + Int64(number)))
                }
            }
        }
        try await prune(store)
        #expect(try await rows(store, "SELECT count(*) FROM logs") == [[.integer(0)]])
        store.close()
    }

    @Test(
        "ids of batches are remembered for a time of their own; one that is older is judged by its rows",
        arguments: Workshop.Kind.available)
    func batches(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try await open(workshop)
        var (first, second) = (
            submission(device: 7, 1, at: Self.old), submission(device: 7, 2, at: Samples.now)
        )
        for submission in [first, second] { #expect(try await store.submit(submission).stored == 3) }
        while try await store.write({ session throws(StoreError) in
            try Retention.forgetBatches(before: Self.before, in: session)
        }) {}
        #expect(try await rows(store, "SELECT count(*) FROM batches") == [[.integer(1)]])
        #expect(try await rows(store, "SELECT count(*) FROM locations") == [[.integer(6)]])
        // Each comes again, one with another row.
        first.rememberedSince = Self.before
        second.rememberedSince = Self.before
        #expect(try await store.submit(second) == Receipt(duplicates: 3))
        #expect(try await store.submit(first) == Receipt(duplicates: 3))
        first.batch.locations.append(Samples.location(99, at: Self.old))
        #expect(try await store.submit(first) == Receipt(stored: 1, duplicates: 3))
        // It is not remembered again, and its week, if there are weeks, not made for it.
        #expect(try await rows(store, "SELECT count(*) FROM batches") == [[.integer(1)]])
        #expect(try await rows(store, "SELECT count(*) FROM locations") == [[.integer(7)]])
        if kind == .postgres {
            let names = try await rows(
                store, "SELECT relname::text FROM pg_class WHERE relname LIKE 'batches\\_%' AND relkind = 'r'"
            )
            #expect(names.count == 1)
        }
        store.close()
    }
}
