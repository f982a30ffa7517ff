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

    /// nil when it does not read, with all of its rows: they go into another one then. Batches of the first schema, which
    /// nobody has frozen for long, neither.
    func batch(_ key: Int64) -> Batch? {
        guard
            let row = try? db.prepare(
                "SELECT \(Statements.batchColumns), id, body, is_piece FROM batches WHERE key = ?"),
            (try? row.bind([.integer(key)])) != nil, (try? row.step()) == true,
            let id = UUIDv7(bytes: row.blob(12))
        else { return nil }
        let members = Statements.members(row)
        let locations = rows(
            "locations WHERE \(Statements.isMember)", Statements.memberValues(members), members.count)
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

extension Writer {
    /// After their rows. One whose rows have not all come back is not taken over, nor one between whose rows others lie
    /// that came later: new numbers cannot tell them apart.
    mutating func importBatches(_ salvage: borrowing Salvage, _ names: Names) throws(SQLiteError) {
        for key in salvage.batchKeys() {
            guard let batch = salvage.batch(key), let session = names.sessions[batch.members.session],
                let extras = names.extras[batch.members.extras]
            else { continue }
            var members = batch.members
            (members.session, members.extras) = (session, extras)
            (members.maxSeq, members.minSeq) = (tally.nextSeq - 1, tally.lowestSeq)
            (members.first, members.last) = BatchMembers.none
            let isFree = "ts = ? AND id = ? AND session = ? AND extras = ? AND uploaded = 0"
            guard let rows = try keys(of: batch.locations, "locations WHERE \(isFree)", members),
                let events = try keys(
                    of: batch.events, "geofence_events WHERE \(isFree) AND batch IS NULL", members)
            else { continue }
            if let first = rows.min(), let last = rows.max() { (members.first, members.last) = (first, last) }
            try statements.countMembers.bind(Statements.memberValues(members))
            defer { statements.countMembers.reset() }
            guard try statements.countMembers.step(),
                statements.countMembers.integer(0) == Int64(rows.count)
            else { continue }
            statements.countMembers.reset()
            try insert(batch, members, events)
        }
    }

    /// The keys of the rows in this database; nil when one is missing.
    private func keys(
        of rows: [(ts: Int64, id: [UInt8])], _ from: String, _ members: BatchMembers
    ) throws(SQLiteError) -> [RowKey]? {
        let row = try db.prepare("SELECT seq FROM " + from)
        var keys: [RowKey] = []
        for (ts, id) in rows {
            try row.bind([.integer(ts), .blob(id), .integer(members.session), .integer(members.extras)])
            guard try row.step() else { return nil }
            keys.append(RowKey(ts: ts, seq: row.integer(0)))
            row.reset()
        }
        return keys
    }

    private func insert(
        _ batch: Salvage.Batch, _ members: BatchMembers, _ events: [RowKey]
    ) throws(SQLiteError) {
        let known = try db.prepare("SELECT 1 FROM batches WHERE id = ?")
        try known.bind([.blob(batch.id.bytes)])
        if try known.step() { return }
        known.reset()
        try db.transaction { () throws(SQLiteError) in
            try statements.insertBatch.run(
                [.blob(batch.id.bytes)] + Self.values(of: members)
                    + [.blob(batch.body), .integer(batch.isPiece ? 1 : 0)])
            let key = db.lastInsertRowid
            try assign(events, toBatch: key)
            guard batch.isPermanent else { return }
            try db.execute("UPDATE batches SET is_permanent = 1 WHERE key = \(key)")
        }
    }

    /// As `Statements.insertBatch` wants them.
    private static func values(of members: BatchMembers) -> [Value] {
        [
            .integer(members.session), .integer(members.extras), .integer(members.first.ts),
            .integer(members.first.seq), .integer(members.last.ts), .integer(members.last.seq),
            .integer(members.maxSeq), .integer(members.minSeq), .integer(Int64(members.count)),
            .integer(Int64(members.events)),
        ]
    }

    /// The batch under the numbers of this database: another may have been put aside while it was being sent.
    func known(_ batch: FrozenBatch) throws(SQLiteError) -> FrozenBatch {
        if frozen.contains(where: { $0.isOf(batch) }) { return batch }
        let row = try db.prepare("SELECT key FROM batches WHERE id = ?")
        try row.bind([.blob(batch.id.bytes)])
        guard try row.step(), let found = frozen.first(where: { $0.key == row.integer(0) }) else {
            return batch
        }
        return FrozenBatch(
            id: batch.id, session: batch.session, locations: batch.locations, events: batch.events,
            body: batch.body, isPiece: batch.isPiece, key: found.key, members: found.members)
    }
}
