import Base
import EnvelopeReader
import Testing

@testable import ServerStore

@Suite("what vehicles say beside their rows") struct RemarksTests {
    private func submission(_ remarks: Remarks, locations: Int = 0, number: Int = 1, device: Int64 = 7)
        -> Submission
    {
        var batch = Samples.batch(number, count: locations)
        batch.remarks = remarks
        return Submission(device: device, batch: batch, received: Samples.now)
    }

    private func order(_ number: Int64, in store: Store, device: Int64 = 7, size: Int = 2) async throws {
        let arguments = "{" + String(repeating: " ", count: size - 2) + "}"
        _ = try await store.write { session throws(StoreError) in
            try session.run(
                """
                INSERT INTO commands(device, number, name, arguments, author, expires)
                VALUES ($1, $2, 'start', $3, 'ada', $4)
                """, .integer(device), .integer(number), .text(arguments),
                .integer(Samples.now.milliseconds + 1000))
        }
    }

    @Test(
        "a heartbeat is kept as the latest status, and no batch is noted for it",
        arguments: Workshop.Kind.available)
    func heartbeat(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        _ = try await store.write { session throws(StoreError) in
            try session.run("INSERT INTO devices(id, name, created) VALUES (7, 'van', 1)")
        }
        let status = #"{"state":"idle"}"#
        #expect(try await store.submit(submission(Remarks(status: Array(status.utf8)))) == Receipt())
        // What comes without one leaves it.
        #expect(try await store.submit(submission(Remarks(), locations: 3)).stored == 3)
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, limit: 10, from: session)
        }
        #expect(devices.first?.status == DeviceState.Status(received: Samples.now, object: status))
        let heard = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, [7], from: session)
        }
        #expect(heard == devices)
        let batches = try await store.read { session throws(StoreError) in
            try session.run("SELECT count(*) FROM batches").first?.first?.integer
        }
        #expect(batches == 1)
        store.close()
    }

    @Test(
        "commands go with every receipt until their result is there, also with batches that were seen",
        arguments: Workshop.Kind.available)
    func commands(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        try await order(1, in: store)
        try await order(2, in: store)
        try await order(3, in: store, device: 8)
        let batch = submission(Remarks(), locations: 2)
        for _ in 0..<2 {
            #expect(try await store.submit(batch).commands.map(\.number) == [1, 2])
        }
        let done = CommandResult(id: "c-1", isDone: true, object: Array(#"{"id":"c-1","ok":true}"#.utf8))
        let foreign = CommandResult(id: "x-9", isDone: true, object: Array(#"{"id":"x-9","ok":true}"#.utf8))
        // A result of another device's command changes nothing.
        let other = CommandResult(id: "c-3", isDone: true, object: Array("{}".utf8))
        let answer = try await store.submit(submission(Remarks(results: [done, foreign, other])))
        #expect(answer.commands.map(\.number) == [2] && answer.commands.first?.wasOffered == true)
        #expect(try await store.submit(submission(Remarks(), device: 8)).commands.map(\.number) == [3])
        var late = submission(Remarks())
        late.age = Samples.now.advanced(bySeconds: 2)
        #expect(try await store.submit(late).commands.isEmpty, "it has expired")
        store.close()
    }

    @Test("a list of commands fits into an answer", arguments: Workshop.Kind.available)
    func manyCommands(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        for number in 1...3 { try await order(Int64(number), in: store, size: 16 << 10) }
        for number in 4...30 { try await order(Int64(number), in: store, device: 8) }
        #expect(try await store.submit(submission(Remarks())).commands.map(\.number) == [1])
        #expect(try await store.submit(submission(Remarks(), device: 8)).commands.count == 16)
        store.close()
    }

    @Test(
        "events of every kind are stored once, read with crossings by time, and expire",
        arguments: Workshop.Kind.available)
    func events(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        let store = try workshop.open()
        let events = (0..<5).map { index in
            VehicleEvent(
                id: Samples.id(Samples.now, 700 + index),
                time: Samples.now.advanced(bySeconds: Double(index)),
                kind: "ignition_on", object: Array(#"{"n":\#(index)}"#.utf8))
        }
        var first = submission(Remarks(events: Array(events[..<3])))
        first.batch.events = Samples.batch(1, count: 0, events: 1).events
        #expect(try await store.submit(first) == Receipt(stored: 4))
        // Another batch with rows in common.
        #expect(
            try await store.submit(submission(Remarks(events: events), number: 2))
                == Receipt(stored: 2, duplicates: 3))
        var old = submission(Remarks(events: events), number: 3)
        old.keptSince = Samples.now.advanced(bySeconds: 100)
        #expect(try await store.submit(old) == Receipt(expired: 5))
        try await store.addDevice(7)
        var (found, place): ([StoredEvent], Reading.Place?) = ([], nil)
        while true {
            let after = place
            let page = try await store.read { session throws(StoreError) in
                try Reading.events(
                    of: 7, for: .everything, in: Samples.now...Samples.now.advanced(bySeconds: 3),
                    after: after, limit: 2,
                    from: session)
            }
            guard let last = page.last else { break }
            found += page
            place = Reading.Place(time: last.time, id: last.id)
        }
        #expect(found.count == 5 && found.map(\.time) == found.map(\.time).sorted())
        #expect(found.contains { $0.content == .crossing(.enter, geofence: "depot") })
        #expect(found.contains { $0.content == .other(kind: "ignition_on", object: #"{"n":3}"#) })
        store.close()
    }

    @Test(
        "heartbeats, results and rows of the same devices from two servers at once: no deadlock, none lost",
        .enabled(if: Workshop.Kind.available.contains(.postgres), "no PostgreSQL was started"))
    func twoServers() async throws {
        let workshop = try Workshop(.postgres)
        defer { workshop.remove() }
        let stores = [try workshop.open(), try workshop.open()]
        for device in 0..<10 {
            for number in 1...10 { try await order(Int64(number), in: stores[0], device: Int64(device)) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let store = stores[number % 2]
                group.addTask {
                    let result = CommandResult(
                        id: "c-\(number / 20 + 1)", isDone: true, object: Array(#"{"n":\#(number)}"#.utf8))
                    let remarks = Remarks(status: Array("{}".utf8), results: [result])
                    _ = try await store.submit(
                        submission(remarks, locations: number % 3, number: number, device: Int64(number % 10))
                    )
                }
            }
            try await group.waitForAll()
        }
        let left = try await stores[0].read { session throws(StoreError) in
            try session.run("SELECT count(*) FROM commands WHERE finished IS NULL").first?.first?.integer
        }
        #expect(left == 0)
        for store in stores { store.close() }
    }
}
