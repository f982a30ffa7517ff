internal import Base
internal import SQLite
internal import Tracking

extension Writer {
    /// Makes `session` the current one: resumes it when it is known, else writes it down.
    mutating func enter(
        session id: UUIDv7, startedAt: Timestamp, isTracking: Bool = true
    ) throws(SQLiteError) {
        if ledger.sessions.isCurrent(id) { return }
        try closeOpenSessions(except: id)
        try leaveSession()
        if let key = ledger.sessions.key(of: id) {
            ledger.sessions.current = try load(key)
            return
        }
        let key = ledger.sessions.nextKey
        let nextSeq = ledger.locations.nextSeq
        let isFull = ledger.sessions.ids.count >= Sessions.limit
        let former = isTracking ? try tables.sessions.latestTrackingKey() : nil
        let forgotten = try db.transaction { () throws(SQLiteError) in
            try tables.sessions.insert(
                key: key, id: id, startedAt: startedAt, nextSeq: nextSeq, isTracking: isTracking)
            if let former { try tables.sessions.moveVehicle(from: former, to: key) }
            return isFull ? try tables.sessions.removeUnused(upTo: key - Int64(Sessions.limit)) : []
        }
        ledger.sessions.remove(forgotten)
        ledger.sessions.add(key, id)
        ledger.sessions.current = CurrentSession(key: key, lastSeq: nextSeq - 1)
        ledger.sessions.current?.tail.vehicle = try tables.sessions.vehicle(of: key)
    }

    /// Writes down the end of the session, with all that is known of its last fix.
    mutating func close(session id: UUIDv7, at time: Timestamp) throws(SQLiteError) {
        guard let key = ledger.sessions.key(of: id) else { return }
        try db.transaction { () throws(SQLiteError) in
            try writeTail()
            try tables.sessions.end(key, at: time)
        }
        if ledger.sessions.current?.key == key { ledger.sessions.current = nil }
    }

    private mutating func leaveSession() throws(SQLiteError) {
        guard ledger.sessions.current != nil else { return }
        try db.transaction { () throws(SQLiteError) in try writeTail() }
        ledger.sessions.current = nil
    }

    /// A session can be left open when the record of the intent was lost with a disk; it ended with its last fix.
    private mutating func closeOpenSessions(except id: UUIDv7) throws(SQLiteError) {
        for session in try tables.sessions.open() {
            guard let other = ledger.sessions.ids[session.key], other != id else { continue }
            let current = ledger.sessions.current
            let known = current?.key == session.key ? current : try load(session.key)
            try close(session: other, at: known?.tail.reference?.time ?? session.startedAt)
        }
    }

    private func load(_ key: Int64) throws(SQLiteError) -> CurrentSession {
        try tables.sessions.load(key, tailIsWritten: tailsAreWritten)
    }

    // MARK: The odometer and the trips

    /// How often the odometer had been set when the newest location was stored.
    static let odometerSettings = "odometer_settings"

    /// What was known with the newest location, which may have left.
    func vehicle() throws(SQLiteError) -> VehicleMemory {
        guard let key = try tables.sessions.latestTrackingKey() else { return VehicleMemory() }
        let isCurrent = ledger.sessions.current?.key == key
        let loaded = isCurrent ? nil : try tables.sessions.load(key, tailIsWritten: tailsAreWritten)
        guard let tail = (loaded ?? ledger.sessions.current)?.tail else { return VehicleMemory() }
        let odometer = tail.vehicle.mileage.map { mileage in
            Odometer.Memory(
                metres: Double(mileage), settings: Int(clamping: ledger.sessions.odometerSettings),
                place: tail.reference.map { Odometer.Place(time: $0.time, coordinate: $0.coordinate) })
        }
        return VehicleMemory(odometer: odometer, trip: tail.vehicle.trip)
    }

    /// Writes trips that end without a location. Part of a transaction.
    ///
    /// - Returns: the session whose row says which trip is under way.
    func write(_ new: NewTrips) throws(SQLiteError) -> Int64? {
        try tables.trips.insert(new.ended)
        guard let key = try tables.sessions.latestTrackingKey() else { return nil }
        try tables.sessions.write(trip: new.open, of: key)
        return key
    }
}
