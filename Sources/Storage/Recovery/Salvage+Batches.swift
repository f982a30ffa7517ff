internal import Base
internal import SQLite
internal import Tracking

/// Batches that were frozen: the server may have stored one already, and recognises it by its id.
extension Salvage {
    struct Batch {
        var destination: DestinationName
        var id: UUIDv7
        var members: BatchMembers
        var request: StoredRequest
        var isPermanent: Bool
        var isPiece: Bool
        /// Time and id of each of its rows.
        var locations: [(ts: Int64, id: [UInt8])]
        var events: [(ts: Int64, id: [UInt8])]
    }

    /// Far more than there ever are: the pieces of one for each destination.
    private static let batchLimit = 500
    private static let rowLimit = 10_000

    /// Reads which rows are members of a batch. To be called before the rows are read.
    mutating func readMembers() {
        do {
            let rows = try source("batches").prepare(
                "SELECT key, \(BatchMembers.columns) FROM batches ORDER BY key LIMIT \(Self.batchLimit)")
            while try rows.step() {
                guard let found = BatchMembers(rows, from: 1),
                    found.count + found.events.count <= Self.rowLimit
                else { continue }
                members.add(rows.integer(0), found)
            }
        } catch {
            // Those of the first two schemas are not read: a database is brought to the present one unless it was damaged
            // before.
            if (try? hasTable("debts")) ?? true { isComplete = false }
        }
    }

    /// nil unless it is readable, and all of its rows were, which otherwise go into another one.
    func batch(_ key: Int64) -> Batch? {
        guard let rows = members.rows(of: key),
            let row = try? source("batches").prepare(
                """
                SELECT destination, id, format, request, body, is_permanent, is_piece, \(BatchMembers.columns) \
                FROM batches WHERE key = ?
                """),
            (try? row.bind([.integer(key)])) != nil, (try? row.step()) == true,
            let destination = row.text(0).flatMap({ DestinationName($0) }),
            let id = UUIDv7(bytes: row.blob(1)), let members = BatchMembers(row, from: 7)
        else { return nil }
        return Batch(
            destination: destination, id: id, members: members, request: Batches.request(row, from: 2),
            isPermanent: row.integer(5) != 0, isPiece: row.integer(6) != 0, locations: rows.locations,
            events: rows.events)
    }
}

/// Which of the rows that are read belong to a frozen batch.
struct SalvagedMembers {
    typealias Names = [(ts: Int64, id: [UInt8])]

    private struct Batch {
        var members: BatchMembers
        var locations: [RowKey: [UInt8]] = [:]
        var events: [RowKey: [UInt8]] = [:]
    }

    private var batches: [Int64: Batch] = [:]

    /// In the order in which they were frozen.
    var keys: [Int64] { batches.keys.sorted() }

    mutating func add(_ key: Int64, _ members: BatchMembers) {
        batches[key] = Batch(members: members)
    }

    mutating func note(_ row: LocationRow) {
        for key in batches.keys where batches[key]?.members.contains(row.key) == true {
            batches[key]?.locations[row.key] = row.location.id.bytes
        }
    }

    mutating func note(_ row: EventRow) {
        for key in batches.keys where batches[key]?.members.events.contains(row.key.seq) == true {
            batches[key]?.events[row.key] = row.id.bytes
        }
    }

    /// Time and id of each; nil unless all have been read.
    func rows(of key: Int64) -> (locations: Names, events: Names)? {
        guard let batch = batches[key], batch.locations.count == batch.members.count,
            batch.events.count == batch.members.events.count
        else { return nil }
        func names(_ rows: [RowKey: [UInt8]]) -> Names {
            rows.sorted { $0.key < $1.key }.map { ($0.key.ts, $0.value) }
        }
        return (names(batch.locations), names(batch.events))
    }
}
