import Base
import EnvelopeReader
import SQLite
import Testing

@testable import ServerStore

/// Databases as earlier versions have left them. An example is added when a schema is released, and never changed.
enum StoredExamples {
    static let rows = """
        INSERT INTO devices(id, name, created) VALUES (7, 'van', 1781000000000);
        INSERT INTO users(id, name, role, hash, created) VALUES (3, 'ada', 2, HASH, 1781000000000);
        INSERT INTO tokens(device, hash, kind, created) VALUES (7, HASH, 1, 1781000000000);
        INSERT INTO presence VALUES (7, 1781000000500, INSTALL, 'linux', '0.1.0', NULL);
        INSERT INTO latest VALUES (7, 1781000000000, ROW, 48.5, 11.5, 3.5, NULL, NULL, NULL, 1);
        INSERT INTO locations VALUES (
            7, 1781000000000, ROW, INSTALL, 48.5, 11.5, 3.5, NULL, NULL, NULL, 1, NULL);
        INSERT INTO events VALUES (7, 1781000000000, ROW, INSTALL, 1, 'depot', NULL);
        INSERT INTO batches VALUES (7, ROW, 1781000000500);
        """

    static func text(hash: String, install: String, row: String) -> String {
        rows.replacing("HASH", with: hash).replacing("INSTALL", with: install).replacing("ROW", with: row)
    }

    static let sqlite1 =
        SQLiteExamples.schema1
        + text(
            hash: "x'00'", install: "x'0190c1a4aaaa7bbb8cccddddeeeeffff'",
            row: "x'019eabdf52007c3e9f102a4b6c8d0e20'")
        + "PRAGMA application_id = 1112232790; PRAGMA user_version = 1;"

    static let sqlite2 = sqlite1 + SQLiteExamples.step2 + extras + "PRAGMA user_version = 2;"

    static let sqlite3 = sqlite2 + SQLiteExamples.step3 + "PRAGMA user_version = 3;"

    static let sqlite4 = sqlite3 + SQLiteExamples.step4 + "PRAGMA user_version = 4;"

    static let sqlite5 = sqlite4 + SQLiteExamples.step5 + "PRAGMA user_version = 5;"

    static let postgres5 = postgres4 + PostgresExamples.step5

    static let postgres4 = postgres3 + PostgresExamples.step4

    static let postgres3 = postgres2 + PostgresExamples.step3

    static let postgres2 = postgres1 + PostgresExamples.step2 + extras

    /// A vehicle that has exchanged R0 twice, since the first answer was late, and uploads with the first pair; and one that has
    /// a refresh token alone. HH stands before the two digits of a hash.
    static let tokens = """
        INSERT INTO tokens(device, hash, kind, created, expires, used, parent) VALUES
            (20, HHa0', 1, 100, 700, 110, NULL), (20, HHb0', 2, 100, NULL, 150, NULL),
            (20, HHa1', 1, 150, 750, 160, HHb0'), (20, HHb1', 2, 150, NULL, NULL, HHb0'),
            (20, HHa2', 1, 155, 755, NULL, HHb0'), (20, HHb2', 2, 155, NULL, NULL, HHb0'),
            (21, HHb9', 2, 100, NULL, NULL, NULL);
        """

    /// Used by the row, and by none.
    private static let extras = """
        INSERT INTO extras VALUES (7, 1, '{"driver":"1"}');
        INSERT INTO extras VALUES (8, 2, '{"driver":"2"}');
        """

    static let postgres1 =
        PostgresExamples.schema1
        + text(
            hash: "'\\x00'", install: "'0190c1a4-aaaa-7bbb-8ccc-ddddeeeeffff'",
            row: "'019eabdf-5200-7c3e-9f10-2a4b6c8d0e20'")
}

@Suite("databases of earlier versions") struct UpgradeTests {
    @Test("steps are taken a statement at a time, and bodies of functions stay whole") func statements() {
        for step in PostgresSchema.steps {
            let statements = PostgresSchema.statements(of: step)
            #expect(statements.joined(separator: ";\n") == step)
            #expect(statements.allSatisfy { $0.ranges(of: "$$").count.isMultiple(of: 2) })
        }
    }

    @Test("they are upgraded, and lose nothing", arguments: Workshop.Kind.available, [1, 2, 3, 4, 5])
    func upgrade(_ kind: Workshop.Kind, from version: Int) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        switch kind {
        case .sqlite:
            try Connection(path: workshop.database, access: .readWrite).execute(
                [
                    StoredExamples.sqlite1, StoredExamples.sqlite2, StoredExamples.sqlite3,
                    StoredExamples.sqlite4, StoredExamples.sqlite5,
                ][version - 1])
        case .postgres:
            try PostgresSession.execute(
                [
                    StoredExamples.postgres1, StoredExamples.postgres2, StoredExamples.postgres3,
                    StoredExamples.postgres4, StoredExamples.postgres5,
                ][version - 1],
                at: workshop.database)
        }
        let store = try workshop.open()
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: .everything, limit: 10, from: session)
        }
        let device = try #require(devices.first)
        #expect(device.name == "van" && device.latest?.latitude == 48.5 && device.status == nil)
        #expect(device.facts?.version == "0.1.0")
        for table in ["users", "tokens", "locations", "events", "batches"] {
            let count = try await store.read { session throws(StoreError) in
                try session.run("SELECT count(*) FROM \(table)").first?.first?.integer
            }
            #expect(count == 1, "\(table)")
        }
        // The week that there was gets what it lacks.
        var batch = Samples.batch(1, count: 5)
        batch.locations = (0..<5).map { Samples.location($0, at: Timestamp(milliseconds: 1_781_000_000_000)) }
        batch.remarks.events = [
            VehicleEvent(
                id: Samples.id(Samples.now, 5), time: Timestamp(milliseconds: 1_781_000_000_000),
                kind: "trip",
                object: Array("{}".utf8))
        ]
        #expect(
            try await store.submit(Submission(device: 7, batch: batch, received: Samples.now))
                == Receipt(stored: 6))
        // Two rows of one device with the same parent and moment are a pair.
        let pairs = try await store.read { session throws(StoreError) in
            try session.run("SELECT pair, ended FROM tokens")
        }
        #expect(pairs == [[.integer(1), .null]])
        // Numbers go on behind those that there are.
        let next = try await store.read { session throws(StoreError) in
            try session.run("SELECT kind, next FROM numbers ORDER BY kind")
        }
        #expect(
            next
                == [
                    ("claim", 1), ("fence", 1), ("fleet", 1), ("group", 1), ("link", 1), ("mail", 1),
                    ("revocation", 1), ("rule", 1),
                    ("rules", 1),
                    ("user", 4),
                ].map {
                    [.text($0.0), .integer($0.1)]
                })
        // Extras stay at least as long as the newest row of their device.
        let extras = try await store.read { session throws(StoreError) in
            try session.run("SELECT newest FROM extras WHERE device = 7")
        }
        #expect(extras == (version == 1 ? [] : [[.integer(1_781_000_000_000)]]))
        store.close()
        try workshop.open().close()
    }

    @Test(
        "tokens become pairs: what was replaced has ended, what was shown is current, what nobody has shown is offered",
        arguments: Workshop.Kind.available)
    func pairs(_ kind: Workshop.Kind) async throws {
        let workshop = try Workshop(kind)
        defer { workshop.remove() }
        switch kind {
        case .sqlite:
            try Connection(path: workshop.database, access: .readWrite).execute(
                StoredExamples.sqlite2 + StoredExamples.tokens.replacing("HH", with: "x'"))
        case .postgres:
            try PostgresSession.execute(
                StoredExamples.postgres2 + StoredExamples.tokens.replacing("HH", with: #"'\x"#),
                at: workshop.database)
        }
        let store = try workshop.open()
        let tokens = try await store.read { session throws(StoreError) in
            try session.run(
                "SELECT device, pair, hash, used, ended FROM tokens WHERE device >= 20 ORDER BY device, pair, kind"
            )
        }
        let expected: [(Int64, Int64, UInt8, Int64?, Int64?)] = [
            (20, 1, 0xA0, 110, 160), (20, 2, 0xA1, 160, nil), (20, 2, 0xB1, 160, nil),
            // The vehicle may hold this one: it stays.
            (20, 3, 0xA2, nil, nil), (20, 3, 0xB2, nil, nil), (21, 1, 0xB9, nil, nil),
        ]
        #expect(
            tokens
                == expected.map { device, pair, hash, used, ended in
                    [.integer(device), .integer(pair), .bytes([hash]), .optional(used), .optional(ended)]
                })
        let ended = try await store.read { session throws(StoreError) in
            try session.run("SELECT device, hash, ended FROM ended_tokens")
        }
        #expect(ended == [[.integer(20), .bytes([0xB0]), .integer(160)]])
        store.close()
    }

    @Test("one of a later version is left alone") func later() throws {
        let workshop = try Workshop(.sqlite)
        defer { workshop.remove() }
        try workshop.open().close()
        try Connection(path: workshop.database, access: .readWrite).execute("PRAGMA user_version = 99")
        #expect(throws: StoreError.self) { try workshop.open() }
    }
}

extension PostgresSession {
    static func execute(_ sql: String, at address: String) throws {
        // Of a session only the connection is wanted, and it makes the latest tables: they go first.
        let session = try PostgresSession(address: address, prepare: true)
        try session.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        try session.execute(sql)
    }
}
