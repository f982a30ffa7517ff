internal import SQLite
public import Tracking

/// What is to be written for one admitted fix.
public struct NewLocation: Sendable {
    /// The admitted fix.
    public var location: Location
    /// The session it was admitted in.
    public var session: UUIDv7
    /// When that session began, for its row, which is written with its first location.
    public var sessionStartedAt: Timestamp
    /// Metres of the session, this fix included.
    public var odometer: Double
    /// The extras in force, a JSON object; nil when there are none.
    public var extras: String?
    /// The fix time is trusted well enough to call other rows old by it.
    public var prunesByAge: Bool

    /// Everything that one write needs.
    public init(
        location: Location, session: UUIDv7, sessionStartedAt: Timestamp, odometer: Double, extras: String?,
        prunesByAge: Bool
    ) {
        self.location = location
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.odometer = odometer
        self.extras = extras
        self.prunesByAge = prunesByAge
    }
}

extension Writer {
    /// At most this many rows are pruned with one write, so that a lowered cap is reached in steps.
    private static let pruneLimit: Int64 = 100
    /// Rows looked at for their age with one write: more than one, so that it catches up.
    private static let ageLimit: Int64 = 8

    private struct Pruned {
        var key: RowKey
        var session: Int64
        var isUploaded: Bool
    }

    /// Writes a location and applies retention, in one transaction.
    ///
    /// - Parameter mayExist: an earlier attempt failed. Its COMMIT may have reached the file all the same, so look
    ///   before writing the same row twice.
    mutating func insert(
        _ new: NewLocation, _ crossings: NewCrossings? = nil, mayExist: Bool
    ) throws(SQLiteError) {
        if mayExist, try exists(new.location) { return }
        try enter(session: new.session, startedAt: new.sessionStartedAt)
        guard var session = current else { return }
        let extras = try version(ofExtras: new.extras)
        let time = new.location.fix.time
        let key = RowKey(ts: time.milliseconds, seq: tally.nextSeq)
        let row = LocationRow(
            key: key, session: session.key, extras: extras, odometer: new.odometer, location: new.location)
        let eventRows = try crossings.map { (new) throws(SQLiteError) in try rows(for: new) } ?? []
        let (pruned, prunedEvents) = try db.transaction { () throws(SQLiteError) in
            try statements.insert.run(row.values)
            let pruned = try prune(keeping: key, time: time, byAge: new.prunesByAge)
            guard let crossings else {
                return (pruned, try pruneEvents(at: time, byAge: new.prunesByAge))
            }
            return (pruned, try write(crossings, eventRows))
        }
        session.lastSeq = key.seq
        session.tail = SessionTail(
            reference: Gate.Reference(
                time: time, coordinate: new.location.fix.coordinate, bearing: new.location.fix.bearing),
            odometer: new.odometer)
        current = session
        tally.nextSeq += 1
        tally.rows += 1
        tally.pending[session.key, default: 0] += 1
        tally.oldestPending = min(tally.oldestPending ?? key, key)
        try book(pruned)
        try book(eventRows, prunedEvents)
        if new.prunesByAge, options.isSyncing, pruned.count < Int(Self.ageLimit) {
            // Nothing uploaded is older than the cutoff any more: the next search begins there.
            let cutoff = time.advanced(bySeconds: -options.retention).milliseconds
            tally.uploadedFrom = max(tally.uploadedFrom, RowKey(ts: cutoff, seq: .min))
        }
    }

    func latestLocation() throws(SQLiteError) -> Location? {
        let row = try db.prepare("SELECT \(Schema.columns) FROM locations ORDER BY ts DESC, seq DESC LIMIT 1")
        guard try row.step() else { return nil }
        return LocationRow(row, sessionID: { sessions[$0] })?.location
    }

    private mutating func book(_ pruned: [Pruned]) throws(SQLiteError) {
        for row in pruned {
            tally.rows -= 1
            if row.isUploaded {
                tally.uploaded -= 1
            } else {
                tally.droppedUnsent += options.isSyncing ? 1 : 0
                remove(pending: 1, ofSession: row.session)
            }
        }
        if let oldest = tally.oldestPending, pruned.contains(where: { $0.key == oldest }) {
            try findOldestPending(from: oldest)
        }
    }

    private func exists(_ location: Location) throws(SQLiteError) -> Bool {
        try statements.exists.bind([.integer(location.fix.time.milliseconds), .blob(location.id.bytes)])
        defer { statements.exists.reset() }
        return try statements.exists.step()
    }

    /// Deletes what the rules of retention say must go, oldest first. Never the row just written, never a member of a
    /// batch that is frozen or about to be.
    private func prune(keeping newest: RowKey, time: Timestamp, byAge: Bool) throws(SQLiteError) -> [Pruned] {
        let surplus = tally.rows + 1 - options.maxRows
        var doomed: [Pruned] = []
        if surplus > 0 {
            // One more than is too many, because the row just written may be the oldest.
            let candidates = try oldest(min(Int64(surplus) + 1, Self.pruneLimit)).filter { $0.key != newest }
            doomed += candidates.prefix(surplus)
        }
        if byAge {
            let cutoff = time.advanced(bySeconds: -options.retention).milliseconds
            let old =
                try options.isSyncing
                ? uploaded(before: cutoff) : oldest(Self.ageLimit).filter { $0.key.ts < cutoff }
            doomed += old.filter { row in row.key != newest && !doomed.contains { $0.key == row.key } }
        }
        for row in doomed { try statements.deleteRow.run(.integer(row.key.ts), .integer(row.key.seq)) }
        return doomed
    }

    /// With an upload configured, only what has been uploaded can be too old.
    private func uploaded(before cutoff: Int64) throws(SQLiteError) -> [Pruned] {
        guard tally.uploaded > 0 else { return [] }
        let start = tally.uploadedFrom
        try statements.oldestUploaded.bind([
            .integer(start.ts), .integer(start.seq), .integer(cutoff), .integer(Self.ageLimit),
        ])
        return try rows(statements.oldestUploaded)
    }

    /// The oldest rows outside every batch.
    private func oldest(_ limit: Int64) throws(SQLiteError) -> [Pruned] {
        guard limit > 0 else { return [] }
        let reserved = (frozen.map(\.members) + (draft.map { [$0] } ?? [])).filter { $0.count > 0 }
        let ends = RowKey(ts: .min, seq: .min)
        guard let first = reserved.map(\.first).min(), let last = reserved.map(\.last).max() else {
            return try rows(statements.oldestAfter, ends, limit)
        }
        let before = try rows(statements.oldestBefore, first, limit)
        if before.count == Int(limit) { return before }
        return before + (try rows(statements.oldestAfter, last, limit - Int64(before.count)))
    }

    private func rows(
        _ statement: borrowing Statement, _ key: RowKey, _ limit: Int64
    ) throws(SQLiteError) -> [Pruned] {
        try statement.bind([.integer(key.ts), .integer(key.seq), .integer(limit)])
        return try rows(statement)
    }

    private func rows(_ statement: borrowing Statement) throws(SQLiteError) -> [Pruned] {
        var rows: [Pruned] = []
        while try statement.step() {
            rows.append(
                Pruned(
                    key: RowKey(ts: statement.integer(0), seq: statement.integer(1)),
                    session: statement.integer(2), isUploaded: statement.integer(3) != 0))
        }
        statement.reset()
        return rows
    }

    /// The version number of a set of extras; 0 means none. New sets get the next number.
    mutating func version(ofExtras json: String?) throws(SQLiteError) -> Int64 {
        guard let json else { return 0 }
        if let known = extras[json] { return known }
        let version = (extras.values.max() ?? 0) + 1
        try db.prepare("INSERT INTO extras (version, json) VALUES (?, ?)").run(.integer(version), .text(json))
        extras[json] = version
        return version
    }
}
