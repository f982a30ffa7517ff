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

    init(_ kind: Kind) throws {
        switch (kind, Kind.server) {
        case (.postgres, let server?):
            let name = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
            try PostgresSession.createDatabase(name, at: server)
            folder = nil
            database = server.replacing("/postgres?", with: "/\(name)?")
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

    /// - Parameter options: of PostgreSQL, as on its command line.
    func open(patience: Duration = .seconds(60), options: String? = nil) throws -> Store {
        let encoded = options?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
        let address = database + (encoded.map { "&options=\($0)" } ?? "")
        return try Store(Store.Place(address), patience: patience, batchPatience: patience) { _ in }
    }
}

extension PostgresSession {
    fileprivate static func createDatabase(_ name: String, at server: String) throws {
        try PostgresSession(address: server, prepare: true).execute("CREATE DATABASE \(name)")
    }
}
