import Base
import Testing

@testable import ServerStore

@Suite("vehicles that fall silent") struct SilenceTests {
    private static let start = GuardedTime.release.advanced(bySeconds: 86_400)

    /// A rule of half an hour, and its rounds.
    private struct Scene {
        let store: Store
        let book: RuleBook
        var minutes: Int64 = 0

        var now: Timestamp { SilenceTests.start.advanced(bySeconds: 60 * Double(minutes)) }

        /// Minutes go by, each with a round; vehicle 1 is heard of in each.
        mutating func pass(_ count: Int64) async throws {
            for _ in 0..<count {
                minutes += 1
                try await hear(1)
                let (book, now) = (book, now)
                try await store.write { session throws(StoreError) in
                    try Silences.look(by: book, now: now, in: session)
                }
            }
        }

        func hear(_ device: Int64) async throws {
            let seen = now.milliseconds
            _ = try await store.write { session throws(StoreError) in
                try session.run(
                    "UPDATE presence SET seen = $1 WHERE device = $2", .integer(seen), .integer(device))
            }
        }

        /// Vehicles of which was told, as often as they were.
        func told() async throws -> [Int64] {
            try await store.read { session throws(StoreError) in
                try session.run("SELECT device FROM alerts ORDER BY device, time").compactMap {
                    $0[0].integer
                }
            }
        }
    }

    private func scene(
        _ workshop: Workshop, _ kind: Workshop.Kind, vehicles: Int64, group: Int64? = nil
    ) async throws -> Scene {
        let store = try workshop.open()
        let rule = AlertRule(
            id: 3, name: "silent", kind: "silence", settings: #"{"minutes":30}"#, group: group, device: nil,
            webhook: nil, secret: nil, mail: [], mailInterval: 300, created: Self.start, author: "eve")
        let id = kind == .sqlite ? "zeroblob(16)" : "gen_random_uuid()"
        // Of schema 3 and later, as PostgreSQL demands.
        let writer = kind == .sqlite ? (column: "", value: "") : (column: ", writer", value: ", 3")
        let statements = [
            """
            INSERT INTO devices(id, name, created) WITH RECURSIVE n(x) AS (
                SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < \(vehicles)) SELECT x, 'vehicle ' || x, 1 FROM n
            """,
            """
            INSERT INTO presence(device, seen, install_id, platform, version\(writer.column))
            SELECT id, \(Self.start.milliseconds), \(id), 'linux', '1'\(writer.value) FROM devices
            """,
            "INSERT INTO fleet_groups VALUES (1, 'one', 1)",
        ]
        try await store.write { session throws(StoreError) in
            for statement in statements { try session.run(statement) }
        }
        return Scene(store: store, book: try #require(RuleBook([rule])))
    }

    @Test("each is told once, and again after it was heard of", arguments: Workshop.Kind.available)
    func once(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        var scene = try await scene(workshop, kind, vehicles: 4)
        defer { scene.store.close() }
        try await scene.pass(29)
        #expect(try await scene.told() == [])
        try await scene.hear(4)
        try await scene.pass(3)
        #expect(try await scene.told() == [2, 3])
        try await scene.hear(2)
        try await scene.pass(29)
        #expect(try await scene.told() == [2, 3, 4])
        try await scene.pass(40)
        #expect(try await scene.told() == [2, 2, 3, 4])
    }

    @Test("more than one round has room for are told by the next ones", arguments: Workshop.Kind.available)
    func many(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        var scene = try await scene(workshop, kind, vehicles: 450)
        defer { scene.store.close() }
        try await scene.pass(34)
        #expect(try await scene.told() == Array(2...450))
    }

    @Test(
        "one that comes into the group is told of, however long it has been silent",
        arguments: Workshop.Kind.available)
    func late(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        var scene = try await scene(workshop, kind, vehicles: 4, group: 1)
        defer { scene.store.close() }
        try await scene.pass(100)
        #expect(try await scene.told() == [])
        try await scene.store.write { session throws(StoreError) in
            _ = try session.run("UPDATE devices SET fleet_group = 1 WHERE id = 3")
        }
        try await scene.pass(1)
        #expect(try await scene.told() == [3])
    }
}
