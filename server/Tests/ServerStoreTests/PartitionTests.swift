import Base
import EnvelopeReader
import Testing

@testable import ServerStore

/// PostgreSQL's weeks: made ahead, made when a row needs one, and dropped, by several servers at once.
@Suite("partitions", .enabled(if: Workshop.Kind.available.contains(.postgres), "no PostgreSQL was started"))
struct PartitionTests {
    private static let week = 7 * 86_400.0

    /// A batch with these fix times.
    private func batch(_ number: Int, at times: [Timestamp], sent: Timestamp = Samples.now) -> Batch {
        var batch = Samples.batch(number, count: 0)
        batch.id = Samples.id(sent, 500_000 + number)
        batch.locations = times.enumerated().map { index, time in
            Samples.location(number * 1000 + index, at: time)
        }
        return batch
    }

    private func submission(_ batch: Batch, device: Int64 = 7, keptSince: Timestamp? = nil) -> Submission {
        Submission(device: device, batch: batch, received: Samples.now, keptSince: keptSince)
    }

    private func names(_ store: Store) async throws -> [String] {
        try await store.read { session throws(StoreError) in
            try session.run("SELECT inhrelid::regclass::text FROM pg_inherits ORDER BY 1").compactMap {
                $0[0].text
            }.filter { !$0.hasSuffix("pkey") && !$0.hasSuffix("idx") }
        }
    }

    @Test("with Citus there are four weeks more") func aheadDistributed() {
        for (span, count) in [(PostgresPartitions.Span.week, 5), (.day, 29)] {
            let period = span.period(of: Samples.now)
            #expect(
                span.periodsAhead(of: Samples.now, isDistributed: true)
                    == Set(period..<period + PostgresPartitions.Period(count)))
        }
    }

    @Test("those of this week and of the next are there before a row needs them") func ahead() async throws {
        let workshop = try Workshop(.postgres)
        let stores = [try workshop.open(), try workshop.open(), try workshop.open()]
        #expect(try await names(stores[0]) == [])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    try await store.write { session throws(StoreError) in
                        try Upkeep.prepare(at: Samples.now, in: session)
                    }
                }
            }
            try await group.waitForAll()
        }
        let week = PostgresPartitions.Span.week.period(of: Samples.now)
        let made = ["batches", "events", "locations", "vehicle_events"].flatMap { table in
            (week...week + 1).map { "\(table)_w\($0)" }
        }
        #expect(try await names(stores[0]) == made)
        // As far ahead as a fix may be, at any moment of the week.
        let times = [Samples.now, Samples.now.advanced(bySeconds: 86_400)]
        for (number, store) in stores.enumerated() {
            #expect(
                try await store.submit(submission(batch(number, at: times, sent: times[1]))).stored == 2)
        }
        #expect(try await names(stores[0]) == made)
        // A day later nothing is missing yet, and when the next week has begun one more is made.
        for (days, more) in [(1.0, 0), (7.0, 4)] {
            try await stores[1].write { session throws(StoreError) in
                try Upkeep.prepare(at: Samples.now.advanced(bySeconds: 86_400 * days), in: session)
            }
            #expect(try await names(stores[0]).count == made.count + more)
        }
        for store in stores { store.close() }
    }

    @Test(
        "a batch with a fix in each of 50 weeks is stored when it has come a few times, and is in nobody's way"
    )
    func manyWeeks() async throws {
        let workshop = try Workshop(.postgres)
        let stores = [try workshop.open(), try workshop.open()]
        let times = (0..<49).map { Self.start.advanced(bySeconds: Self.week * Double($0)) } + [Samples.now]
        var receipt: Receipt?
        var attempts = 0
        while receipt == nil, attempts < 5 {
            attempts += 1
            // Others of the same moment, which may be in its group.
            let others = (0..<20).map { submission(batch(attempts * 100 + $0, at: [Samples.now]), device: 8) }
            let store = stores[attempts % 2]
            async let wide = store.submit(submission(batch(1, at: times)))
            let receipts = try await withThrowingTaskGroup(of: Receipt.self) { group in
                for other in others { group.addTask { try await store.submit(other) } }
                return try await group.reduce(into: [Receipt]()) { $0.append($1) }
            }
            #expect(receipts == [Receipt](repeating: Receipt(stored: 1), count: 20))
            do {
                receipt = try await wide
            } catch let error as StoreError {
                #expect(error.kind == .overloaded)
            }
        }
        #expect(receipt == Receipt(stored: 50))
        #expect(try await names(stores[0]).count >= 150)
        #expect(try await stores[1].submit(submission(batch(1, at: times))) == Receipt(duplicates: 50))
        try await stores[1].addDevice(7)
        let found = try await stores[1].read { session throws(StoreError) in
            try Reading.locations(
                of: 7, for: .everything, in: Timestamp(milliseconds: 0)...Timestamp(milliseconds: .max),
                after: nil,
                limit: 10_000,
                from: session)
        }
        #expect(found.map(\.row.time) == times)
        for store in stores { store.close() }
    }

    private static let start = Timestamp(milliseconds: 946_684_800_000)

    /// Weeks that there are.
    private func weeks(_ store: Store) async throws -> Int {
        try await names(store).filter { $0.hasPrefix("locations_w") }.count
    }

    @Test(
        "a device has room for 60 new weeks, and for eight more an hour; what it may it gets, and others go on"
    )
    func allowance() async throws {
        let workshop = try Workshop(.postgres)
        let stores = [try workshop.open(), try workshop.open()]
        _ = try await stores[0].submit(submission(batch(0, at: [Samples.now]), device: 8))
        let first = try await weeks(stores[0])
        let times = (0..<100).map { Self.start.advanced(bySeconds: Self.week * Double($0)) }
        for attempt in 1...3 {
            let refused = await #expect(throws: StoreError.self) {
                try await stores[attempt % 2].submit(submission(batch(1, at: times)))
            }
            #expect(refused?.kind == .overloaded)
            #expect(try await weeks(stores[0]) == first + 60)
        }
        // Weeks that are there cost nothing, and others have room of their own.
        #expect(
            try await stores[0].submit(submission(batch(2, at: Array(times[..<60])))) == Receipt(stored: 60))
        #expect(
            try await stores[1].submit(submission(batch(3, at: Array(times[60..<70])), device: 8))
                == Receipt(stored: 10))
        _ = try await stores[0].write { session throws(StoreError) in
            try session.run("UPDATE weeks SET since = since - 3600000 WHERE device = 7")
        }
        _ = try? await stores[0].submit(submission(batch(1, at: times)))
        #expect(try await weeks(stores[0]) == first + 78)
        for store in stores { store.close() }
    }

    /// Runs statements as an operator would.
    private func operate(_ store: Store, _ statements: String...) async throws {
        for statement in statements {
            _ = try await store.write { session throws(StoreError) in try session.run(statement) }
        }
    }

    @Test(
        "a week that somebody has detached is attached again when a row needs it, and its rows are there",
        arguments: [0.0, 10.0])
    func detached(weeksAgo: Double) async throws {
        let workshop = try Workshop(.postgres)
        let stores = [try workshop.open(), try workshop.open()]
        let time = Samples.now.advanced(bySeconds: -Self.week * weeksAgo)
        for store in stores {
            #expect(try await store.submit(submission(batch(1, at: [time], sent: time))).duplicates < 2)
        }
        let week = PostgresPartitions.Span.week.period(of: time)
        try await operate(
            stores[0], "ALTER TABLE locations DETACH PARTITION locations_w\(week)",
            "ALTER TABLE batches DETACH PARTITION batches_w\(week)")
        let later = time.advanced(bySeconds: 1)
        let receipts = try await withThrowingTaskGroup(of: Receipt.self) { group in
            for number in 2..<12 {
                group.addTask {
                    try await stores[number % 2].submit(submission(batch(number, at: [later], sent: later)))
                }
            }
            return try await group.reduce(into: [Receipt]()) { $0.append($1) }
        }
        #expect(receipts == [Receipt](repeating: Receipt(stored: 1), count: 10))
        // What was stored before is known again.
        #expect(
            try await stores[0].submit(submission(batch(1, at: [time], sent: time))) == Receipt(duplicates: 1)
        )
        for store in stores { store.close() }
    }

    @Test("an empty table of a week that is not attached, whatever it is, is made anew") func detachedEmpty()
        async throws
    {
        let workshop = try Workshop(.postgres)
        let store = try workshop.open()
        let week = PostgresPartitions.Span.week.period(of: Samples.now)
        try await operate(store, "CREATE TABLE locations_w\(week)(x integer)")
        #expect(try await store.submit(submission(batch(1, at: [Samples.now]))) == Receipt(stored: 1))
        store.close()
    }

    @Test("a week that cannot be attached is refused by itself, and others go on") func unattachable()
        async throws
    {
        let workshop = try Workshop(.postgres)
        let store = try workshop.open()
        let old = Samples.now.advanced(bySeconds: -Self.week * 10)
        let week = PostgresPartitions.Span.week.period(of: old)
        try await operate(
            store, "CREATE TABLE locations_w\(week)(x integer)", "INSERT INTO locations_w\(week) VALUES (1)")
        let outcomes = await withTaskGroup(of: (Bool, StoreError.Kind?).self) { group in
            for number in 0..<20 {
                let isHopeless = number % 5 == 0
                // The other week of these is made all the same.
                let times = isHopeless ? [old, old.advanced(bySeconds: -Self.week)] : [Samples.now]
                group.addTask {
                    do throws(StoreError) {
                        _ = try await store.submit(
                            submission(batch(number, at: times), device: isHopeless ? 7 : 8))
                        return (isHopeless, nil)
                    } catch {
                        return (isHopeless, error.kind)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 20 && outcomes.allSatisfy { $0.1 == ($0.0 ? .overloaded : nil) })
        #expect(try await names(store).contains("locations_w\(week - 1)"))
        // What is in it is left alone.
        try await operate(store, "SELECT x FROM locations_w\(week)")
        store.close()
    }

    @Test("each row is in the week of its fix, to the millisecond") func bounds() async throws {
        let workshop = try Workshop(.postgres)
        let store = try workshop.open()
        let week = PostgresPartitions.Span.week.period(of: Samples.now)
        let start = week * PostgresPartitions.Span.week.milliseconds
        let times = [start - 1, start, start + PostgresPartitions.Span.week.milliseconds - 1].map {
            Timestamp(milliseconds: $0)
        }
        for (number, time) in times.enumerated() {
            #expect(
                try await store.submit(submission(batch(number, at: [time], sent: time)))
                    == Receipt(stored: 1))
        }
        for table in ["locations", "batches"] {
            let found = try await store.read { session throws(StoreError) in
                try session.run(
                    "SELECT tableoid::regclass::text FROM \(table) ORDER BY device, \(table == "batches" ? "id" : "time")"
                ).compactMap { $0[0].text }
            }
            #expect(found == [week - 1, week, week].map { "\(table)_w\($0)" })
        }
        store.close()
    }

    /// A batch of twelve rows over the last twenty weeks.
    private func scattered(_ number: Int) -> Batch {
        let times = (0..<12).map { (index: Int) -> Timestamp in
            let weeks = Double((index * 7 + number) % 20)
            return Samples.now.advanced(bySeconds: -Self.week * weeks - Double(number))
        }
        return batch(
            number, at: times, sent: Samples.now.advanced(bySeconds: -Self.week * Double(number % 20)))
    }

    /// Batches by all servers while each drops what is older and reads.
    private func storm(_ stores: [Store], _ batches: [Batch], since: Timestamp) async throws -> [Receipt] {
        try await withThrowingTaskGroup(of: Receipt?.self) { group in
            for (number, batch) in batches.enumerated() {
                let submission = submission(batch, device: Int64(number % 5 + 1), keptSince: since)
                group.addTask { try await stores[number % 3].submit(submission) }
            }
            for number in 0..<9 {
                group.addTask {
                    try await stores[number % 3].prune(before: since)
                    return nil
                }
                group.addTask {
                    _ = try await stores[number % 3].read { session throws(StoreError) in
                        try Reading.locations(
                            of: Int64(number % 5 + 1), for: .everything, in: since...Samples.now, after: nil,
                            limit: 1000,
                            from: session)
                    }
                    return nil
                }
            }
            var receipts: [Receipt] = []
            for try await receipt in group {
                if let receipt { receipts.append(receipt) }
            }
            return receipts
        }
    }

    @Test(
        "three servers store, make weeks, drop others and read, all at once: no error, and what is kept is there"
    )
    func allAtOnce() async throws {
        let workshop = try Workshop(.postgres)
        let stores = [try workshop.open(), try workshop.open(), try workshop.open()]
        var kept: Set<UUIDv7> = []
        var (sent, expired) = (0, 0)
        for round in 0..<6 {
            // Each round the retention moves on by three weeks, and reaches what was stored in the round before.
            let since = Samples.now.advanced(bySeconds: Self.week * Double(3 * round - 20))
            let batches = (0..<45).map { scattered(round * 100 + $0) }
            let receipts = try await storm(stores, batches, since: since)
            #expect(receipts.count == batches.count)
            for receipt in receipts {
                #expect(receipt.stored + receipt.expired == 12 && receipt.duplicates == 0)
                expired += receipt.expired
            }
            for batch in batches {
                sent += batch.locations.count
                for row in batch.locations { kept.insert(row.id) }
            }
            kept = kept.filter { $0.time >= since }
            let rows = try await stores[round % 3].read { session throws(StoreError) in
                try session.run("SELECT id FROM locations WHERE time >= $1", .integer(since.milliseconds))
            }
            let found = rows.compactMap { $0[0].id }
            #expect(found.count == kept.count)
            #expect(Set(found) == kept)
            // Whole weeks go: none is left that ends before.
            try await stores[0].prune(before: since)
            let oldest = PostgresPartitions.Span.week.period(of: since)
            for name in try await names(stores[0]) {
                let week = name.split(separator: "w").last.flatMap { Int64($0) } ?? 0
                #expect(week >= oldest, "\(name)")
            }
        }
        print(
            "partitions: \(sent) rows, \(expired) expired, \(kept.count) kept, by three servers that dropped weeks"
        )
        for store in stores { store.close() }
    }

    @Test(
        "partitions are of a day where that was said before there was data, for all servers; not afterwards")
    func days() async throws {
        let workshop = try Workshop(.postgres)
        let place = Store.Place(workshop.database)
        // It has made weeks, which are empty.
        let first = try workshop.open()
        try await first.write { session throws(StoreError) in
            try Upkeep.prepare(at: Samples.now, in: session)
        }
        let patience = Duration.seconds(300)
        let second = try Store(place, partitionDays: 1, patience: patience, batchPatience: patience) { _ in }
        #expect(try await names(first).isEmpty)
        try await second.write { session throws(StoreError) in
            try Upkeep.prepare(at: Samples.now, in: session)
        }
        let day = PostgresPartitions.Span.day.period(of: Samples.now)
        #expect(
            try await names(first).filter { $0.hasPrefix("loc") }
                == (day...day + 1).map { "locations_d\($0)" })
        // Whoever knew of weeks hears of days.
        let times = (0..<20).map { Samples.now.advanced(bySeconds: -86_400 * Double($0)) }
        for (number, store) in [first, second].enumerated() {
            #expect(try await store.submit(submission(batch(number, at: times))) == Receipt(stored: 20))
        }
        #expect(try await names(first).count { $0.hasPrefix("locations_d") } == 21)
        #expect(try await names(first).allSatisfy { !$0.contains("_w") })
        // Retention goes by days, too.
        let since = Samples.now.advanced(bySeconds: -86_400 * 5)
        try await first.prune(before: since)
        #expect(
            try await names(second).filter { $0.hasPrefix("loc") }.min()
                == "locations_d\(PostgresPartitions.Span.day.period(of: since))")
        for days in [nil, 1] { try Store(place, partitionDays: days) { _ in }.close() }
        let refused = #expect(throws: StoreError.self) { try Store(place, partitionDays: 7) { _ in } }
        #expect(refused?.message.contains("partition_days is chosen before there is any") == true)
        for store in [first, second] { store.close() }
        #expect(throws: StoreError.self) { try Store(.sqlite("/nowhere"), partitionDays: 7) { _ in } }
    }

    @Test("a week that somebody reads for long is dropped later, and no upload waits for that")
    func longReader() async throws {
        let workshop = try Workshop(.postgres)
        // As long as other statements may wait for others, this would be seen.
        let store = try workshop.open(options: "-c lock_timeout=1h")
        let old = Samples.now.advanced(bySeconds: -Self.week * 10)
        #expect(try await store.submit(submission(batch(1, at: [old, Samples.now]))) == Receipt(stored: 2))
        let reader = try PostgresSession(address: workshop.database, prepare: false)
        try reader.execute("BEGIN; SELECT count(*) FROM locations, events, vehicle_events, batches")
        let since = Samples.now.advanced(bySeconds: -Self.week)
        let count = try await names(store).count
        let drop: @Sendable (any Session) throws(StoreError) -> StoreError.Kind? = {
            session throws(StoreError) in
            do throws(StoreError) {
                _ = try Retention.prune(before: since, in: session)
            } catch {
                return error.kind
            }
            return nil
        }
        #expect(try await store.write(drop) == .unavailable)
        #expect(try await names(store).count == count)
        async let pruned = store.write(drop)
        for number in 2..<12 {
            #expect(
                try await store.submit(submission(batch(number, at: [Samples.now]))) == Receipt(stored: 1))
        }
        _ = try await pruned
        try reader.execute("ROLLBACK")
        try await store.prune(before: since)
        #expect(try await names(store).count < count)
        store.close()
    }
}
