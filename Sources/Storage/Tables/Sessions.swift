internal import Base
internal import SQLite
internal import Tracking

/// Sessions, with what is remembered of their last fix once its row has left.
struct Sessions: ~Copyable {
    /// Kept besides those that rows refer to.
    static let limit = 1000

    let db: Connection
    private let updateTail: Statement

    init(_ db: Connection) throws(SQLiteError) {
        updateTail = try db.prepare(
            """
            UPDATE sessions SET last_seq = ?, last_ts = ?, last_lat = ?, last_lng = ?, last_bearing = ?, \
            odometer = ?, mileage = ?, trip = ? WHERE key = ?
            """)
        self.db = db
    }

    /// The id of each, by key.
    static func ids(_ db: Connection) throws(SQLiteError) -> [Int64: UUIDv7] {
        let all = try db.prepare("SELECT key, id FROM sessions")
        var ids: [Int64: UUIDv7] = [:]
        while try all.step() { ids[all.integer(0)] = UUIDv7(bytes: all.blob(1)) }
        return ids
    }

    func ids() throws(SQLiteError) -> [Int64: UUIDv7] { try Self.ids(db) }

    func lastSeq() throws(SQLiteError) -> Int64 {
        Int64(try db.value("SELECT MAX(last_seq) FROM sessions") ?? "") ?? 0
    }

    /// The latest that is remembered of a location that may have left.
    func lastTime() throws(SQLiteError) -> Int64? {
        try db.value("SELECT MAX(last_ts) FROM sessions").flatMap { Int64($0) }
    }

    func insert(
        key: Int64, id: UUIDv7, startedAt: Timestamp, nextSeq: Int64, isTracking: Bool
    ) throws(SQLiteError) {
        try db.prepare(
            """
            INSERT INTO sessions (key, id, started_at, first_seq, last_seq, is_tracking) \
            VALUES (?, ?, ?, ?, ?, ?)
            """
        ).run(
            .integer(key), .blob(id.bytes), .integer(startedAt.milliseconds), .integer(nextSeq),
            .integer(nextSeq - 1), .integer(isTracking ? 1 : 0))
    }

    /// Forgets sessions that no row refers to.
    ///
    /// - Returns: their keys.
    func removeUnused(upTo key: Int64) throws(SQLiteError) -> [Int64] {
        let uses = try Schema.tables(naming: "session", in: db).map { "SELECT session FROM " + $0 }
        let old = try db.prepare(
            """
            DELETE FROM sessions WHERE key <= ? AND key NOT IN (\(uses.joined(separator: " UNION "))) \
            RETURNING key
            """)
        try old.bind([.integer(key)])
        var removed: [Int64] = []
        while try old.step() { removed.append(old.integer(0)) }
        return removed
    }

    func end(_ key: Int64, at time: Timestamp) throws(SQLiteError) {
        try db.prepare("UPDATE sessions SET stopped_at = ? WHERE key = ?").run(
            .integer(time.milliseconds), .integer(key))
    }

    /// Sessions without an end.
    func open() throws(SQLiteError) -> [(key: Int64, startedAt: Timestamp)] {
        let open = try db.prepare("SELECT key, started_at FROM sessions WHERE stopped_at IS NULL")
        var found: [(key: Int64, startedAt: Timestamp)] = []
        while try open.step() { found.append((open.integer(0), Timestamp(milliseconds: open.integer(1)))) }
        return found
    }

    /// The newest without an end.
    static func newestOpen(
        _ db: Connection, isTracking: Bool
    ) throws(SQLiteError) -> (id: UUIDv7, startedAt: Timestamp)? {
        let row = try db.prepare(
            """
            SELECT id, started_at FROM sessions WHERE is_tracking = \(isTracking ? 1 : 0) AND stopped_at IS NULL \
            ORDER BY key DESC LIMIT 1
            """)
        guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
        return (id, Timestamp(milliseconds: row.integer(1)))
    }

    func newestOpen(isTracking: Bool) throws(SQLiteError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try Self.newestOpen(db, isTracking: isTracking)
    }

    /// The newest tracking session, and whether it has no end; one without an end comes first.
    func latestTracking() throws(SQLiteError) -> (session: (id: UUIDv7, startedAt: Timestamp), isOpen: Bool)?
    {
        let row = try db.prepare(
            """
            SELECT id, started_at, stopped_at IS NULL FROM sessions WHERE is_tracking = 1 \
            ORDER BY stopped_at IS NULL DESC, key DESC LIMIT 1
            """)
        guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
        return ((id, Timestamp(milliseconds: row.integer(1))), row.integer(2) != 0)
    }

    // MARK: Salvage

    func insert(
        salvaged new: [(key: Int64, session: Salvage.Session)], firstSeq: Int64
    ) throws(SQLiteError) {
        guard !new.isEmpty else { return }
        let insert = try db.prepare(
            """
            INSERT INTO sessions (key, id, started_at, stopped_at, first_seq, last_seq, odometer, is_tracking, mileage, \
            trip) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        for (key, session) in new {
            try insert.run(
                .integer(key), .blob(session.id.bytes), .integer(session.startedAt),
                .optional(session.stoppedAt), .integer(firstSeq), .integer(firstSeq - 1),
                .real(session.odometer), .integer(session.isTracking ? 1 : 0),
                .optional(session.vehicle.mileage), .optional(session.vehicle.trip?.text))
        }
    }

    func setNumbers(_ counts: [SessionCount]) throws(SQLiteError) {
        let update = try db.prepare("UPDATE sessions SET first_seq = ?, last_seq = ? WHERE key = ?")
        for count in counts {
            try update.run(
                .integer(count.lastSeq - Int64(count.rows) + 1), .integer(count.lastSeq),
                .integer(count.session))
        }
    }
}

/// The tail of a session. Only that of the current session ever lags behind its rows.
extension Sessions {
    /// Must be part of every transaction that may delete the newest row of the current session.
    func writeTail(of session: CurrentSession?) throws(SQLiteError) {
        guard let session else { return }
        let last = session.tail.reference
        try updateTail.run(
            .integer(session.lastSeq), .optional(last?.time.milliseconds),
            .optional(last?.coordinate.latitude),
            .optional(last?.coordinate.longitude), .optional(last?.bearing), .real(session.tail.odometer),
            .optional(session.tail.vehicle.mileage), .optional(session.tail.vehicle.trip?.text),
            .integer(session.key))
    }

    /// Part of the transaction of the location that has changed it.
    func write(_ memory: Admission.Memory, _ trip: StoredTrip?, of key: Int64) throws(SQLiteError) {
        try db.prepare(
            """
            UPDATE sessions SET motion = ?, parked_lat = ?, parked_lng = ?, check_in_from = ?, trip = ? WHERE key = ?
            """
        ).run(
            LocationRow.code(of: memory.motion), .optional(memory.spot?.latitude),
            .optional(memory.spot?.longitude), .optional(memory.checkInFrom?.milliseconds),
            .optional(trip?.text), .integer(key))
    }

    /// Removes the last positions and the parking spots of sessions whose last fix is deleted.
    func removePositions(upTo cutoff: Timestamp?) throws(SQLiteError) {
        try db.prepare(
            """
            UPDATE sessions SET last_ts = NULL, last_lat = NULL, last_lng = NULL, last_bearing = NULL, motion = 0, \
            parked_lat = NULL, parked_lng = NULL, check_in_from = NULL WHERE coalesce(last_ts, ?1) <= ?1
            """
        ).run(.integer(cutoff?.milliseconds ?? .max))
    }

    /// Which of the sessions have rows that are newer than the tail that was written.
    func lagging(_ counts: [SessionCount]) throws(SQLiteError) -> [Int64] {
        let written = try db.prepare("SELECT last_seq FROM sessions WHERE key = ?")
        var found: [Int64] = []
        for count in counts {
            try written.bind([.integer(count.session)])
            guard try written.step(), written.integer(0) < count.lastSeq else { continue }
            found.append(count.session)
        }
        return found
    }

    /// What is known of the session's last fix: from its newest row, or, when that has left, as it was written down.
    ///
    /// - Parameter tailIsWritten: no row need be looked at.
    func load(_ key: Int64, tailIsWritten: Bool) throws(SQLiteError) -> CurrentSession {
        let stored = try db.prepare(
            """
            SELECT last_seq, last_ts, last_lat, last_lng, last_bearing, odometer, motion, parked_lat, parked_lng, \
            check_in_from, mileage, trip FROM sessions WHERE key = ?
            """)
        // Beside MAX, SQLite takes the other columns from the row that has the maximum.
        let newest = try db.prepare(
            "SELECT MAX(seq), ts, lat, lng, bearing, odometer, mileage FROM locations WHERE session = ?")
        try stored.bind([.integer(key)])
        guard try stored.step() else { return CurrentSession(key: key, lastSeq: 0) }
        if tailIsWritten, !stored.isNull(1) {
            var found = Self.session(key, from: stored)
            found.tail.memory = Self.memory(from: stored)
            found.tail.vehicle = Self.vehicle(mileage: stored.optionalInteger(10), trip: stored.text(11))
            return found
        }
        try newest.bind([.integer(key)])
        guard try newest.step() else { return CurrentSession(key: key, lastSeq: 0) }
        let isRowNewer = !newest.isNull(0) && newest.integer(0) >= stored.integer(0)
        var found = isRowNewer ? Self.session(key, from: newest) : Self.session(key, from: stored)
        found.tail.memory = Self.memory(from: stored)
        let mileage = isRowNewer ? newest.optionalInteger(6) : nil
        found.tail.vehicle = Self.vehicle(
            mileage: mileage ?? stored.optionalInteger(10), trip: stored.text(11))
        if isRowNewer { try takeUpRows(of: key, in: &found.tail.vehicle) }
        return found
    }

    private static func memory(from row: borrowing Statement) -> Admission.Memory {
        let spot = row.optionalReal(7).flatMap { latitude in
            row.optionalReal(8).flatMap { Coordinate(latitude: latitude, longitude: $0) }
        }
        return Admission.Memory(
            motion: LocationRow.motion(row.integer(6)) ?? .unknown, spot: spot,
            checkInFrom: row.optionalInteger(9).map { Timestamp(milliseconds: $0) })
    }

    private static func session(_ key: Int64, from row: borrowing Statement) -> CurrentSession {
        var reference: Gate.Reference?
        if let ts = row.optionalInteger(1),
            let coordinate = Coordinate(latitude: row.real(2), longitude: row.real(3))
        {
            reference = Gate.Reference(
                time: Timestamp(milliseconds: ts), coordinate: coordinate, bearing: row.optionalReal(4))
        }
        return CurrentSession(
            key: key, tail: SessionTail(reference: reference, odometer: row.real(5)), lastSeq: row.integer(0))
    }
}
