internal import Base
internal import SQLite
internal import Tracking

/// Batches that were frozen: the server may have stored one already, and recognises it by its id.
extension Salvage {
    struct Batch {
        var id: UUIDv7
        var members: BatchMembers
        var body: [UInt8]
        var isPermanent: Bool
        var isPiece: Bool
        /// Time and id of each of its rows.
        var locations: [(ts: Int64, id: [UInt8])]
        var events: [(ts: Int64, id: [UInt8])]
    }

    /// Far more than there ever are: the pieces of one.
    private static let batchLimit = 100
    private static let rowLimit = 10_000

    func batchKeys() -> [Int64] {
        var keys: [Int64] = []
        if let rows = try? db.prepare("SELECT key FROM batches ORDER BY key LIMIT \(Self.batchLimit)") {
            while (try? rows.step()) == true { keys.append(rows.integer(0)) }
        }
        return keys
    }

    /// nil unless it is readable with all of its rows, which otherwise go into another one. Batches of the first schema,
    /// which has been out of use for long, are not read.
    func batch(_ key: Int64) -> Batch? {
        guard
            let row = try? db.prepare(
                "SELECT \(Batches.columns), id, body, is_piece FROM batches WHERE key = ?"),
            (try? row.bind([.integer(key)])) != nil, (try? row.step()) == true,
            let id = UUIDv7(bytes: row.blob(12))
        else { return nil }
        let members = Batches.members(row)
        let locations = rows(
            "locations WHERE \(BatchMembers.condition)", members.values, members.count)
        let events = rows("geofence_events WHERE batch = ? AND uploaded = 0", [.integer(key)], members.events)
        guard let locations, let events else { return nil }
        return Batch(
            id: id, members: members, body: row.blob(13), isPermanent: row.integer(10) != 0,
            isPiece: row.integer(14) != 0, locations: locations, events: events)
    }

    /// nil when there are not as many.
    private func rows(_ from: String, _ values: [Value], _ count: Int) -> [(ts: Int64, id: [UInt8])]? {
        guard count <= Self.rowLimit else { return nil }
        do {
            let rows = try db.prepare("SELECT ts, id FROM \(from) LIMIT \(count + 1)")
            try rows.bind(values)
            var found: [(ts: Int64, id: [UInt8])] = []
            while try rows.step() { found.append((rows.integer(0), rows.blob(1))) }
            return found.count == count ? found : nil
        } catch {
            return nil
        }
    }
}
