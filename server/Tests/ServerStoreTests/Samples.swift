import Base
import EnvelopeReader
import Foundation
import Testing

@testable import ServerStore

/// Batches of made-up locations.
enum Samples {
    static let now = Timestamp(milliseconds: 1_781_000_000_000)

    /// An id whose time part is `time`; `number` tells those of one moment apart.
    static func id(_ time: Timestamp, _ number: Int) -> UUIDv7 {
        let milliseconds = UInt64(bitPattern: time.milliseconds) << 16 | 0x7000 | UInt64(number >> 32 & 0xFFF)
        let low = 0x8000_0000_0000_0000 | UInt64(number & 0xFFFF_FFFF)
        guard let id = withUnsafeBytes(of: (milliseconds.bigEndian, low.bigEndian), { UUIDv7(bytes: $0) })
        else {
            preconditionFailure("these are 16 bytes")
        }
        return id
    }

    static func location(_ number: Int, at time: Timestamp) -> LocationRow {
        LocationRow(
            id: id(time, number), time: time, latitude: 48 + Double(number) / 1e5, longitude: 11.5,
            accuracy: 3.25,
            speed: number % 2 == 0 ? 12.5 : nil, codes: Codes(rawValue: 0b1))
    }

    /// A batch of locations, one a second.
    static func batch(_ number: Int, from first: Int = 0, count: Int, extras: String? = nil, events: Int = 0)
        -> Batch
    {
        let rows = (first..<first + count).map {
            location($0, at: now.advanced(bySeconds: Double($0) - 10_000))
        }
        let crossings = (0..<events).map { index in
            EventRow(id: id(now, 900_000 + number * 1000 + index), time: now, kind: .enter, geofence: "depot")
        }
        return Batch(
            id: id(now, 500_000 + number), session: id(now, 1), sentAt: now,
            device: DeviceFacts(installID: id(now, 2), platform: "linux", version: "1.2.3", model: nil),
            extras: extras.map { Array($0.utf8) }, locations: rows, events: crossings)
    }
}

extension Store {
    /// What a device has sent is seen by nobody before there is one.
    func addDevice(_ id: Int64) async throws {
        _ = try await write { session throws(StoreError) in
            try session.run(
                "INSERT INTO devices(id, name, created) VALUES ($1, $2, 1) ON CONFLICT DO NOTHING",
                .integer(id),
                .text("device \(id)"))
        }
    }

    /// As housekeeping does: a week that others use for too long goes another time.
    func prune(before time: Timestamp) async throws {
        let end = ContinuousClock.now + .seconds(300)
        while true {
            do throws(StoreError) {
                while try await write({ session throws(StoreError) in
                    try Retention.prune(before: time, in: session)
                }) {}
                return
            } catch {
                // 55P03: uploads, other servers, or PostgreSQL's own look at what it holds.
                guard error.message.contains("55P03"), ContinuousClock.now < end else { throw error }
            }
        }
    }
}

/// A database of its own, and stores on it.
final class Workshop: Sendable {
    enum Kind: Sendable {
        case sqlite, postgres

        /// PostgreSQL only where the tests were given a server: `make test-server` starts one.
        static let available: [Kind] = server == nil ? [.sqlite] : [.sqlite, .postgres]

        fileprivate static let server = ProcessInfo.processInfo.environment["BEEKON_TEST_POSTGRES"]
    }

    /// A path, or the address of a database.
    let database: String
    private let folder: String?
    /// Whoever waits for others gets it in the end, however long these take on a busy machine; who waits in a
    /// circle is told by PostgreSQL.
    private static let patience = "&options=-c%20lock_timeout%3D300s%20-c%20statement_timeout%3D600s"

    init(_ kind: Kind) throws {
        switch (kind, Kind.server) {
        case (.postgres, let server?):
            let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
            try PostgresSession.createDatabase(name, at: server)
            folder = nil
            database = server.replacing("/postgres?", with: "/\(name)?") + Self.patience
        case (.sqlite, _), (.postgres, nil):
            let folder = NSTemporaryDirectory() + "server-store-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            self.folder = folder
            database = folder + "/server.db"
        }
    }

    /// At the end of the test.
    func remove() {
        if let folder { try? FileManager.default.removeItem(atPath: folder) }
    }

    /// - Parameter options: of PostgreSQL, as on its command line; in place of those of the address.
    func open(patience: Duration = .seconds(300), options: String? = nil) throws -> Store {
        let encoded = options?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let address = database + (encoded.map { "&options=\($0)" } ?? "")
        return try Store(
            Store.Place(address), patience: patience, batchPatience: patience, batchDelay: patience
        ) { _ in }
    }
}

extension PostgresSession {
    /// By a connection that makes no tables: all tests would make them in one place, and wait for each other.
    fileprivate static func createDatabase(_ name: String, at server: String) throws {
        // What is copied must have no connections, and PostgreSQL itself looks into template1 now and then.
        try PostgresSession([("dbname", server)]).execute("CREATE DATABASE \(name) TEMPLATE template0")
    }
}
