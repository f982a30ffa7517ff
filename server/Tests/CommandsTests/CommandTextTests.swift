import Base
import EnvelopeReader
import Foundation
import ServerStore
import Testing

@testable import Commands

@Suite("commands of vehicles") struct CommandTests {
    private let store: Store
    private let start = Timestamp(milliseconds: 1_781_000_000_000)

    init() throws {
        let path = NSTemporaryDirectory() + "commands-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        store = try Store(.sqlite(path + "/server.db"), patience: .seconds(60)) { _ in }
    }

    private func device() async throws -> Int64 {
        try await store.write { session throws(StoreError) in
            let rows = try session.run("INSERT INTO devices(name, created) VALUES ('van', 1) RETURNING id")
            return rows.first?.first?.integer ?? 0
        }
    }

    private func add(_ name: String, to device: Int64, at now: Timestamp) async throws -> CommandEntry? {
        try await store.write { session throws(StoreError) in
            try CommandQueue.add(
                CommandOrder(name: name, lifetime: 3600), for: device, by: "ada", now: now, in: session)
        }
    }

    @Test("numbers grow, also within a millisecond, and only as many wait as a device takes") func numbers()
        async throws
    {
        let device = try await device()
        var last: Int64 = 0
        for _ in 0..<16 {
            let entry = try #require(try await add("start", to: device, at: start))
            #expect(entry.number > last && entry.id == "c-\(entry.number)")
            last = entry.number
        }
        await #expect(throws: StoreError.self) { try await add("start", to: device, at: start) }
        // Those that have expired make room.
        let later = start.advanced(bySeconds: 3601)
        #expect(try await add("start", to: device, at: later) != nil)
        #expect(try await add("start", to: device + 1, at: start) == nil)
        store.close()
    }

    @Test("what becomes of a command, in one word") func states() async throws {
        let device = try await device()
        let entry = try #require(try await add("stop", to: device, at: start))
        #expect(entry.state(now: start) == "waiting")
        #expect(entry.state(now: entry.expires) == "expired")
        let start = start
        #expect(
            try await store.write { session throws(StoreError) in
                try CommandQueue.withdraw(entry.number, of: device, now: start, in: session)
            })
        let all = try await store.read { session throws(StoreError) in
            try CommandQueue.all(of: device, for: .everything, in: session)
        }
        #expect(all.map { $0.state(now: start) } == ["withdrawn"])
        store.close()
    }

    @Test("a key reads back, and signs the same") func keys() throws {
        let key = try #require(SigningKey())
        let again = try #require(SigningKey(pem: Array(key.privatePEM.utf8)))
        #expect(key.publicPEM.hasPrefix("-----BEGIN PUBLIC KEY-----") && again.publicPEM == key.publicPEM)
        let bytes = Array("what to do".utf8)
        #expect(key.signature(of: bytes) == again.signature(of: bytes))
        #expect(SigningKey(pem: Array(key.publicPEM.utf8)) == nil && SigningKey(pem: []) == nil)
    }
}
