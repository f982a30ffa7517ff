internal import Base
internal import SQLite
internal import Tracking

/// Events of every kind. There are few of them, so each statement is prepared where it is used. One whose time is not known
/// yet has none, and is pending for nobody until it has: it could not be sent.
struct Events {
    /// Kept at most, uploaded and pending together.
    static let limit = 10_000

    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    func counts() throws(SQLiteError) -> [SessionCount] { try RecordKind.events.counts(db) }

    /// - Parameter ts: `RowKey.untimed` for one that may have got its time since.
    func exists(ts: Int64, id: UUIDv7) throws(SQLiteError) -> Bool {
        if ts == RowKey.untimed {
            let row = try db.prepare("SELECT 1 FROM events WHERE id = ?")
            try row.bind([.blob(id.bytes)])
            return try row.step()
        }
        let row = try db.prepare("SELECT 1 FROM events WHERE ts = ? AND id = ?")
        try row.bind([.integer(ts), .blob(id.bytes)])
        return try row.step()
    }

    func insert(_ rows: [EventRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        let columns = "\(EventRow.columns), \(EventRow.bootColumns), uploaded"
        let places = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
        let insert = try db.prepare("INSERT INTO events (\(columns)) VALUES (\(places))")
        for row in rows {
            try insert.run(row.values + row.bootValues + [.integer(row.custody.rawValue)])
        }
    }

    /// Inserts the events of another database that are not there yet.
    func insert(salvaged rows: [EventRow]) throws(SQLiteError) {
        var new: [EventRow] = []
        for row in rows where try !exists(ts: row.key.ts, id: row.id) { new.append(row) }
        try insert(new)
    }

    /// The newest of this kind that is there.
    func latest(of kind: VehicleEvent.Kind) throws(SQLiteError) -> EventRow? {
        let codes = EventRow.codes(crossings: false, [kind]).map(\.description).joined(separator: ", ")
        let row = try db.prepare(
            """
            SELECT \(EventRow.columns), \(EventRow.bootColumns) FROM events WHERE kind IN (\(codes)) \
            ORDER BY seq DESC LIMIT 1
            """)
        return try row.step() ? EventRow(row, boot: EventRow.columnCount) : nil
    }

    // MARK: Without a time

    /// Events that have no time yet, in the order in which they happened.
    func untimed() throws(SQLiteError) -> [EventRow] {
        let rows = try db.prepare(
            """
            SELECT \(EventRow.columns), \(EventRow.bootColumns) FROM events WHERE ts IS NULL ORDER BY seq
            """)
        var found: [EventRow] = []
        while try rows.step() {
            if let row = EventRow(rows, boot: EventRow.columnCount) { found.append(row) }
        }
        return found
    }

    func lastTime() throws(SQLiteError) -> Int64? {
        try db.value("SELECT MAX(ts) FROM events").flatMap { Int64($0) }
    }

    func countUntimed() throws(SQLiteError) -> Int {
        Int(try db.value("SELECT COUNT(*) FROM events WHERE ts IS NULL") ?? "") ?? 0
    }

    /// Gives events these times, for good.
    func stamp(_ times: [(seq: Int64, time: Timestamp, isEstimated: Bool)]) throws(SQLiteError) {
        let update = try db.prepare(
            """
            UPDATE events SET ts = ?2, is_estimated = ?3, boot_id = NULL, boot_time = NULL \
            WHERE seq = ?1 AND ts IS NULL
            """)
        for (seq, time, isEstimated) in times {
            try update.run(.integer(seq), .integer(time.milliseconds), .integer(isEstimated ? 1 : 0))
        }
    }

    func remove(_ rows: [RetainedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        let delete = try db.prepare("DELETE FROM events WHERE seq = ?")
        for row in rows { try delete.run(.integer(row.key.seq)) }
    }

    /// Outside every batch; those that nobody waits for first, and last of all those without a time.
    func oldest(
        where rule: String, in seqs: SeqSet = .everything, besides reserved: SeqSet, limit: Int
    ) throws(SQLiteError) -> [RetainedRow] {
        let rows = try db.prepare(
            """
            SELECT coalesce(ts, \(RowKey.untimed)) AS time, seq, session, uploaded FROM events WHERE \(rule) \
            ORDER BY uploaded DESC, time, seq
            """)
        var found: [RetainedRow] = []
        while found.count < limit, try rows.step() {
            let key = RowKey(ts: rows.integer(0), seq: rows.integer(1))
            guard seqs.contains(key.seq), !reserved.contains(key.seq) else { continue }
            found.append(
                RetainedRow(key: key, session: rows.integer(2), isUploaded: rows.integer(3) != 0))
        }
        return found
    }

    /// Kept ones become pending.
    func resend(_ keys: [RowKey]) throws(SQLiteError) {
        let move = try db.prepare("UPDATE events SET uploaded = 0 WHERE seq = ? AND uploaded = 1")
        for key in keys { try move.run(.integer(key.seq)) }
    }

    // MARK: Owed

    /// The oldest of the session that are owed, or the newest; oldest first in either case.
    func pending(
        of session: Int64, in owed: SeqSet, limit: Int, order: BatchOrder
    ) throws(SQLiteError) -> [EventRow] {
        let rule = "session = \(session) AND uploaded = 0 AND ts IS NOT NULL"
        switch order {
        case .oldest: return try rows(rule, in: owed, limit: limit)
        case .newest: return try rows(rule, in: owed, limit: limit, direction: " DESC").reversed()
        }
    }

    /// The members of a batch.
    func rows(in seqs: SeqSet) throws(SQLiteError) -> [EventRow] {
        guard !seqs.isEmpty else { return [] }
        return try rows("uploaded = 0", in: seqs, limit: seqs.count)
    }

    private func rows(
        _ rule: String, in seqs: SeqSet, limit: Int, direction: String = ""
    ) throws(SQLiteError) -> [EventRow] {
        let rows = try db.prepare(
            "SELECT \(EventRow.columns) FROM events WHERE \(rule) ORDER BY ts\(direction), seq\(direction)")
        var found: [EventRow] = []
        while found.count < limit, try rows.step() {
            if seqs.contains(rows.integer(0)), let row = EventRow(rows) { found.append(row) }
        }
        return found
    }

    /// How many pending events each session has that are owed, and which is the oldest of all.
    func pending(in owed: SeqSet) throws(SQLiteError) -> (counts: [Int64: Int], oldest: RowKey?) {
        let rows = try db.prepare(
            "SELECT session, ts, seq FROM events WHERE uploaded = 0 AND ts IS NOT NULL ORDER BY ts, seq")
        var counts: [Int64: Int] = [:]
        var oldest: RowKey?
        while try rows.step() {
            guard owed.contains(rows.integer(2)) else { continue }
            counts[rows.integer(0), default: 0] += 1
            oldest = oldest ?? RowKey(ts: rows.integer(1), seq: rows.integer(2))
        }
        return (counts, oldest)
    }

    /// Among the crossings that are still to be sent, for each fence the exit that comes before any entry:
    /// that entry has been sent, or is among those that are frozen, which go out whatever happens to the
    /// rest.
    func leaves(in owed: SeqSet, besides frozen: SeqSet) throws(SQLiteError) -> SeqSet {
        let codes = EventRow.codes(crossings: true, []).map(\.description).joined(separator: ", ")
        let rows = try db.prepare(
            """
            SELECT \(EventRow.columns) FROM events \
            WHERE kind IN (\(codes)) AND uploaded = 0 AND ts IS NOT NULL ORDER BY ts, seq
            """)
        var (found, decided) = (SeqSet(), Set<String>())
        while try rows.step() {
            let seq = rows.integer(0)
            guard owed.contains(seq), !frozen.contains(seq), let crossing = EventRow(rows)?.crossing else {
                continue
            }
            let isFirst = decided.insert(crossing.geofence).inserted
            if isFirst, crossing.kind == .exit { found.insert(seq) }
        }
        return found
    }

    func count(in seqs: SeqSet) throws(SQLiteError) -> Int {
        var count: Int64 = 0
        for range in seqs.ranges {
            let row = try db.prepare("SELECT COUNT(*) FROM events WHERE seq BETWEEN ? AND ? AND uploaded = 0")
            try row.bind([.integer(range.lowerBound), .integer(range.upperBound)])
            if try row.step() { count += row.integer(0) }
        }
        return Int(clamping: count)
    }

    /// Deletes them.
    ///
    /// - Parameter keeps: they are marked instead.
    /// - Returns: how many there were.
    func settle(_ seqs: SeqSet, keeps: Bool) throws(SQLiteError) -> Int {
        let act = keeps ? "UPDATE events SET uploaded = 1" : "DELETE FROM events"
        var count = 0
        for range in seqs.ranges {
            try db.prepare(act + " WHERE seq BETWEEN ? AND ? AND uploaded = 0").run(
                .integer(range.lowerBound), .integer(range.upperBound))
            count += db.changes
        }
        return count
    }

    /// The numbers of the events that a deletion covers. Also of those that nobody is owed any more: where a format came
    /// that carries none, a batch that was frozen before may still hold them.
    func covered(by deletion: Deletion) throws(SQLiteError) -> SeqSet {
        let rows = try db.prepare(
            "SELECT seq FROM events WHERE \(Deletion.Bounds.coversTime) AND seq <= ? ORDER BY seq")
        try rows.bind([.integer(deletion.current.lastTime), .integer(deletion.maxEventSeq)])
        var found = SeqSet()
        while try rows.step() { found.insert(rows.integer(0)) }
        return found
    }

    /// The numbers of the pending events of a salvaged batch; nil when one is missing.
    func pending(_ rows: [(ts: Int64, id: [UInt8])], of session: Int64, extras: Int64) throws(SQLiteError)
        -> SeqSet?
    {
        let row = try db.prepare(
            "SELECT seq FROM events WHERE ts = ? AND id = ? AND session = ? AND extras = ? AND uploaded = 0")
        var found = SeqSet()
        for (ts, id) in rows {
            try row.bind([.integer(ts), .blob(id), .integer(session), .integer(extras)])
            guard try row.step() else { return nil }
            found.insert(row.integer(0))
            row.reset()
        }
        return found
    }
}
