import Base
import EnvelopeReader
import Synchronization
import Testing

@testable import ServerStore

/// What a server of the version before does, in its own statements, as long as it is not told to end.
private final class EarlierServer: Sendable {
    /// Ids of the rows that it acknowledged, and why it stored no more.
    struct Outcome {
        var acknowledged: [UUIDv7] = []
        var refusal = ""
        /// Uploads that were in the way of another transaction, which was in theirs.
        var deadlocks = 0
    }

    private let outcome = Mutex(Outcome())
    private let address: String
    private let number: Int
    private let version: Int
    private let end = Mutex(false)

    init(at address: String, _ number: Int, version: Int = 2) {
        self.address = address
        self.number = number
        self.version = version
    }

    /// After the upload that is under way.
    func stop() { end.withLock { $0 = true } }

    var now: Outcome { outcome.withLock { $0 } }

    /// Uploads until it is refused. What was interrupted for the sake of others comes again, as it does from vehicles.
    func run() {
        do {
            let session = try PostgresSession(address: address, prepare: false)
            // More than there is time for: whoever tells it to end may be kept waiting.
            for count in 0..<1_000_000 where !end.withLock({ $0 }) {
                let id = Samples.id(Samples.now, number * 1_000_000 + count)
                while true {
                    do throws(PostgresSession.Refusal) {
                        try upload(id, in: session)
                        break
                    } catch {
                        // 40P01: it was in the way of another.
                        guard error.sqlState == "40P01" else { throw error.error }
                        outcome.withLock { $0.deadlocks += 1 }
                    }
                }
                outcome.withLock { $0.acknowledged.append(id) }
            }
        } catch {
            outcome.withLock { $0.refusal = "\(error)" }
        }
    }

    private func upload(_ id: UUIDv7, in session: PostgresSession) throws(PostgresSession.Refusal) {
        let (device, time) = (Cell.integer(7), Cell.integer(Samples.now.milliseconds))
        try session.atomically { () throws(PostgresSession.Refusal) in
            _ = try session.query(
                "UPDATE tokens SET used = $1 WHERE device = $2 AND used IS NULL", [time, device])
            // What the third schema asked for beside that.
            let (digest, writer) = version == 2 ? ("", "") : (", 0", ", 3")
            _ = try session.query(
                "INSERT INTO batches SELECT *\(digest) FROM unnest($1, $2, $3) ON CONFLICT DO NOTHING RETURNING device, id",
                with: [.array(.int8, [device]), .array(.uuid, [.id(id)]), .array(.int8, [time])])
            _ = try session.query(
                """
                INSERT INTO presence(device, seen, install_id, platform, version, model, status, status_time\(
                    version == 2 ? "" : ", writer"))
                VALUES ($1, $2, $3, 'linux', '0.1.0', NULL, NULL, NULL\(writer)) ON CONFLICT (device) DO UPDATE SET
                    seen = greatest(presence.seen, excluded.seen)
                """, [device, time, .id(id)])
            _ = try session.query(
                "INSERT INTO locations VALUES ($1, $2, $3, $3, 48.5, 11.5, 3, NULL, NULL, NULL, 1, NULL)",
                [device, time, .id(id)])
        }
    }
}

@Suite(
    "servers of two versions at one PostgreSQL", .enabled(if: Workshop.Kind.available.contains(.postgres)))
struct MixedVersionTests {
    /// What an earlier server's log says then.
    private static let sentence = "this beekon-server is older than the tables: install the new version"

    private func workshop() throws -> Workshop {
        let workshop = try Workshop(.postgres)
        try PostgresSession.execute(StoredExamples.postgres2, at: workshop.database)
        return workshop
    }

    @Test("an upgrade under load loses nothing, and earlier servers store nothing afterwards")
    func load() async throws {
        let workshop = try workshop()
        let servers = (1...4).map { EarlierServer(at: workshop.database, $0) }
        let threads = servers.map { server in WorkerThread { server.run() } }
        while servers.contains(where: { $0.now.acknowledged.count < 20 && $0.now.refusal.isEmpty }) {
            await Task.yield()
        }
        let store = try workshop.open()
        for thread in threads { thread.join() }
        for server in servers {
            #expect(server.now.refusal.contains(Self.sentence))
            #expect(server.now.deadlocks == 0)
        }
        let acknowledged = servers.flatMap(\.now.acknowledged)
        #expect(acknowledged.count >= 80)
        let found = try await store.read { session throws(StoreError) in
            try session.run("SELECT id FROM locations").compactMap { $0.first?.id }
        }
        // One row was there before.
        #expect(found.count == acknowledged.count + 1 && Set(acknowledged).isSubset(of: found))
        #expect(
            try await store.submit(
                Submission(device: 7, batch: Samples.batch(1, count: 5), received: Samples.now))
                == Receipt(stored: 5))
        store.close()
    }

    @Test("an upgrade from the third schema stops nobody: what earlier servers store is stored") func third()
        async throws
    {
        let workshop = try Workshop(.postgres)
        try PostgresSession.execute(StoredExamples.postgres3, at: workshop.database)
        let servers = (1...4).map { EarlierServer(at: workshop.database, $0, version: 3) }
        let threads = servers.map { server in WorkerThread { server.run() } }
        func all(_ count: Int) -> Bool {
            servers.allSatisfy { $0.now.acknowledged.count >= count || !$0.now.refusal.isEmpty }
        }
        while !all(20) { await Task.yield() }
        let store = try workshop.open()
        let before = servers.map(\.now.acknowledged.count).max() ?? 0
        while !all(before + 20) { await Task.yield() }
        for server in servers { server.stop() }
        for thread in threads { thread.join() }
        for server in servers { #expect(server.now.refusal.isEmpty && server.now.deadlocks == 0) }
        let acknowledged = servers.flatMap(\.now.acknowledged)
        let found = try await store.read { session throws(StoreError) in
            try session.run("SELECT id FROM locations").compactMap { $0.first?.id }
        }
        #expect(found.count == acknowledged.count + 1 && Set(acknowledged).isSubset(of: found))
        store.close()
    }

    @Test(
        "an earlier server changes nothing that this one would not understand",
        arguments: [
            // Tokens without a pair, which are nobody's.
            "INSERT INTO tokens(device, hash, kind, created) VALUES (7, '\\x01', 1, 1)",
            // Rows whose batch has no digest.
            "INSERT INTO batches SELECT * FROM unnest('{7}'::bigint[], '{019eabdf-5200-7c3e-9f10-2a4b6c8d0e21}'::uuid[], '{1}'::bigint[])",
            // What is said by an installation that was not judged.
            """
            INSERT INTO presence(device, seen, install_id, platform, version) VALUES (
                7, 1, '019eabdf-5200-7c3e-9f10-2a4b6c8d0e21', 'linux', '0.1.0')
            ON CONFLICT (device) DO UPDATE SET seen = excluded.seen
            """,
        ]) func writes(_ statement: String) async throws
    {
        let workshop = try workshop()
        let store = try workshop.open()
        let session = try PostgresSession(address: workshop.database, prepare: false)
        #expect {
            try session.execute(statement)
        } throws: {
            // With any other kind, a vehicle would take its refresh token for refused.
            guard let error = ($0 as? PostgresSession.Refusal)?.error else { return false }
            return error.kind == .unavailable && error.message.contains(Self.sentence)
        }
        store.close()
    }

    @Test("an earlier server gives no numbers to users and claims") func numbers() async throws {
        let workshop = try workshop()
        let store = try workshop.open()
        let session = try PostgresSession(address: workshop.database, prepare: false)
        for statement in [
            "INSERT INTO users(name, role, hash, created) VALUES ('eve', 1, '', 1)",
            "INSERT INTO claims(hash, created, expires, uses) VALUES ('\\x01', 1, 1, 1)",
        ] {
            #expect(throws: PostgresSession.Refusal.self) { try session.execute(statement) }
        }
        let next = try await store.read { session throws(StoreError) in
            try session.run("SELECT kind, next FROM numbers WHERE kind IN ('claim', 'user') ORDER BY kind")
        }
        // A user has number 3; each sequence gave up a number.
        #expect(next == [[.text("claim"), .integer(1)], [.text("user"), .integer(4)]])
        store.close()
    }
}
