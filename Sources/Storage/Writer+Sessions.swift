internal import Base
internal import SQLite
internal import Tracking

extension Writer {
    /// Makes `session` the current one: resumes it when it is known, else writes it down.
    mutating func enter(
        session id: UUIDv7, startedAt: Timestamp, isTracking: Bool = true
    ) throws(SQLiteError) {
        if let current, sessions[current.key] == id { return }
        try closeOpenSessions(except: id)
        try leaveSession()
        if let key = sessions.first(where: { $0.value == id })?.key {
            current = try loadSession(key)
            return
        }
        let key = nextSessionKey
        var forgotten: [Int64] = []
        try db.transaction { () throws(SQLiteError) in
            try db.prepare(
                """
                INSERT INTO sessions (key, id, started_at, first_seq, last_seq, is_tracking) \
                VALUES (?, ?, ?, ?, ?, ?)
                """
            ).run(
                .integer(key), .blob(id.bytes), .integer(startedAt.milliseconds), .integer(tally.nextSeq),
                .integer(tally.nextSeq - 1), .integer(isTracking ? 1 : 0))
            if sessions.count >= Self.sessionLimit {
                // Sessions that still have rows stay: their rows need the name.
                let uses = try Schema.tables(naming: "session", in: db).map { "SELECT session FROM " + $0 }
                let old = try db.prepare(
                    """
                    DELETE FROM sessions WHERE key <= ? AND key NOT IN (\(uses.joined(separator: " UNION "))) \
                    RETURNING key
                    """)
                try old.bind([.integer(key - Int64(Self.sessionLimit))])
                while try old.step() { forgotten.append(old.integer(0)) }
            }
        }
        for key in forgotten { sessions[key] = nil }
        sessions[key] = id
        current = CurrentSession(
            key: key, tail: SessionTail(reference: nil, odometer: 0), lastSeq: tally.nextSeq - 1)
    }

    /// Writes down the end of the session, with all that is known of its last fix.
    mutating func close(session id: UUIDv7, at time: Timestamp) throws(SQLiteError) {
        guard let key = sessions.first(where: { $0.value == id })?.key else { return }
        try db.transaction { () throws(SQLiteError) in
            try writeTail()
            try db.prepare("UPDATE sessions SET stopped_at = ? WHERE key = ?").run(
                .integer(time.milliseconds), .integer(key))
        }
        if current?.key == key { current = nil }
    }

    /// Makes the session current whose tail was not written down before the previous end: only that of the current one
    /// ever lags behind its rows, so there is one at most. Its rows may leave before anybody enters it again.
    ///
    /// - Parameter newestRows: the last sequence number in each session that has rows.
    mutating func resumeSession(newestRows: [(session: Int64, seq: Int64)]) throws(SQLiteError) {
        let written = try db.prepare("SELECT last_seq FROM sessions WHERE key = ?")
        for row in newestRows {
            try written.bind([.integer(row.session)])
            guard try written.step(), written.integer(0) < row.seq else { continue }
            current = try loadSession(row.session)
        }
    }

    private mutating func leaveSession() throws(SQLiteError) {
        guard current != nil else { return }
        try db.transaction { () throws(SQLiteError) in try writeTail() }
        current = nil
    }

    /// Must be part of every transaction that may delete the newest row of the current session.
    func writeTail() throws(SQLiteError) {
        guard let current else { return }
        let last = current.tail.reference
        try statements.updateTail.run(
            .integer(current.lastSeq), .optional(last?.time.milliseconds),
            .optional(last?.coordinate.latitude),
            .optional(last?.coordinate.longitude), .optional(last?.bearing), .real(current.tail.odometer),
            .integer(current.key))
    }

    /// A session can be left open when the record of the intent was lost with a disk; it ended with its last fix.
    private mutating func closeOpenSessions(except id: UUIDv7) throws(SQLiteError) {
        let open = try db.prepare("SELECT key, started_at FROM sessions WHERE stopped_at IS NULL")
        var found: [(key: Int64, startedAt: Int64)] = []
        while try open.step() { found.append((open.integer(0), open.integer(1))) }
        for session in found {
            guard let other = sessions[session.key], other != id else { continue }
            let known = current?.key == session.key ? current : try loadSession(session.key)
            let end = known?.tail.reference?.time ?? Timestamp(milliseconds: session.startedAt)
            try close(session: other, at: end)
        }
    }

    /// What is known of the session's last fix: from its newest row, or, when that has left, as it was written down.
    func loadSession(_ key: Int64) throws(SQLiteError) -> CurrentSession {
        let stored = try db.prepare(
            """
            SELECT last_seq, last_ts, last_lat, last_lng, last_bearing, odometer, motion, parked_lat, parked_lng, \
            check_in_from FROM sessions WHERE key = ?
            """)
        // Beside MAX, SQLite takes the other columns from the row that has the maximum.
        let newest = try db.prepare(
            "SELECT MAX(seq), ts, lat, lng, bearing, odometer FROM locations WHERE session = ?")
        try stored.bind([.integer(key)])
        guard try stored.step() else {
            return CurrentSession(key: key, tail: SessionTail(reference: nil, odometer: 0), lastSeq: 0)
        }
        if tailsAreWritten, !stored.isNull(1) {
            var found = session(key, from: stored)
            found.tail.memory = memory(from: stored)
            return found
        }
        try newest.bind([.integer(key)])
        guard try newest.step() else {
            return CurrentSession(key: key, tail: SessionTail(reference: nil, odometer: 0), lastSeq: 0)
        }
        let isRowNewer = !newest.isNull(0) && newest.integer(0) >= stored.integer(0)
        var found = isRowNewer ? session(key, from: newest) : session(key, from: stored)
        found.tail.memory = memory(from: stored)
        return found
    }

    /// Part of the transaction of the location that has changed it.
    func write(_ memory: Admission.Memory, ofSession key: Int64) throws(SQLiteError) {
        try db.prepare(
            "UPDATE sessions SET motion = ?, parked_lat = ?, parked_lng = ?, check_in_from = ? WHERE key = ?"
        ).run(
            LocationRow.code(of: memory.motion), .optional(memory.spot?.latitude),
            .optional(memory.spot?.longitude), .optional(memory.checkInFrom?.milliseconds), .integer(key))
    }

    private func memory(from row: borrowing Statement) -> Admission.Memory {
        let spot = row.optionalReal(7).flatMap { latitude in
            row.optionalReal(8).flatMap { Coordinate(latitude: latitude, longitude: $0) }
        }
        return Admission.Memory(
            motion: LocationRow.motion(row.integer(6)) ?? .unknown, spot: spot,
            checkInFrom: row.optionalInteger(9).map { Timestamp(milliseconds: $0) })
    }

    private func session(_ key: Int64, from row: borrowing Statement) -> CurrentSession {
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
