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

    func batchKeys() -> [Int64] {
        var keys: [Int64] = []
        if let rows = try? db.prepare("SELECT key FROM batches ORDER BY key LIMIT \(Self.batchLimit)") {
            while (try? rows.step()) == true { keys.append(rows.integer(0)) }
        }
        return keys
    }

    /// nil unless it is readable with all of its rows, which otherwise go into another one. Those of earlier schemas are
    /// not read: a database is brought to the present one unless it was damaged before.
    func batch(_ key: Int64) -> Batch? {
        guard
            let row = try? db.prepare(
                """
                SELECT destination, id, format, request, body, is_permanent, is_piece, \(BatchMembers.columns) \
                FROM batches WHERE key = ?
                """),
            (try? row.bind([.integer(key)])) != nil, (try? row.step()) == true,
            let destination = row.text(0).flatMap({ DestinationName($0) }),
            let id = UUIDv7(bytes: row.blob(1)),
            let members = BatchMembers(row, from: 7), members.count + members.events.count <= Self.rowLimit
        else { return nil }
        var (locations, events): ([(ts: Int64, id: [UInt8])], [(ts: Int64, id: [UInt8])]) = ([], [])
        for run in members.runs {
            guard
                let found = rows("locations WHERE \(Locations.isInRun)", Locations.bounds(of: run, run.seqs))
            else { return nil }
            locations += found
        }
        for range in members.events.ranges {
            let bounds: [Value] = [.integer(range.lowerBound), .integer(range.upperBound)]
            guard let found = rows("events WHERE seq BETWEEN ? AND ? AND uploaded = 0", bounds) else {
                return nil
            }
            events += found
        }
        guard locations.count == members.count, events.count == members.events.count else { return nil }
        return Batch(
            destination: destination, id: id, members: members, request: Batches.request(row, from: 2),
            isPermanent: row.integer(5) != 0, isPiece: row.integer(6) != 0, locations: locations,
            events: events)
    }

    private func rows(_ from: String, _ values: [Value]) -> [(ts: Int64, id: [UInt8])]? {
        do {
            let rows = try db.prepare("SELECT ts, id FROM \(from) LIMIT \(Self.rowLimit + 1)")
            try rows.bind(values)
            var found: [(ts: Int64, id: [UInt8])] = []
            while try rows.step() { found.append((rows.integer(0), rows.blob(1))) }
            return found
        } catch {
            return nil
        }
    }
}
