internal import Base
internal import SQLite
internal import Tracking

/// What the reader writes with each fix.
extension Writer {
    /// Writes a location and applies retention, in one transaction.
    ///
    /// - Parameter mayExist: an earlier attempt failed. Its COMMIT may have reached the file all the same, so look
    ///   before writing the same row twice.
    mutating func insert(
        _ new: NewLocation, _ crossings: NewCrossings? = nil, mayExist: Bool
    ) throws(SQLiteError) {
        if mayExist, try wasWritten(RowName(new)) { return }
        try enter(session: new.session, startedAt: new.sessionStartedAt)
        guard var session = ledger.sessions.current else { return }
        let extras = try version(ofExtras: new.extras)
        let time = new.location.fix.time
        let row = LocationRow(
            key: RowKey(ts: time.milliseconds, seq: ledger.locations.nextSeq), session: session.key,
            extras: extras, odometer: new.odometer, location: new.location)
        let eventRows = try crossings.map { (new) throws(SQLiteError) in try rows(for: new) } ?? []
        if new.prunesByAge { try ageOrphans(at: time) }
        let cutoffs = new.prunesByAge ? cutoffs(at: time, onlyBefore: new.agesOnlyBefore) : nil
        let pruned = try prunable(before: cutoffs)
        let prunedEvents = try prunableEvents(before: cutoffs, besides: eventRows.count)
        let memory = new.memory ?? session.tail.memory
        let vehicle = VehicleTail(
            mileage: new.location.mileage ?? session.tail.vehicle.mileage,
            trip: new.vehicle.map(\.trip) ?? session.tail.vehicle.trip)
        let settings = new.vehicle.map { Int64($0.settings) } ?? ledger.sessions.odometerSettings
        let lost = ledger.losses(of: pruned, \.locations) + ledger.losses(of: prunedEvents, \.events)
        try db.transaction { () throws(SQLiteError) in
            try tables.locations.insert(row)
            if memory != session.tail.memory || vehicle.hasTurned(since: session.tail.vehicle) {
                try tables.sessions.write(memory, vehicle.trip, of: session.key)
            }
            if settings != ledger.sessions.odometerSettings {
                try tables.counters.set(Self.odometerSettings, to: settings)
            }
            try tables.trips.insert(crossings?.trips?.ended ?? [])
            try tables.locations.remove(pruned)
            if let ages = new.ages { try tables.counters.set(ages) }
            try write(eventRows, crossings?.changes ?? [], pruning: prunedEvents)
            try tables.counters.add(lost)
        }
        session.lastSeq = row.key.seq
        session.tail = SessionTail(
            reference: Gate.Reference(
                time: time, coordinate: new.location.fix.coordinate, bearing: new.location.fix.bearing),
            odometer: new.odometer, memory: memory, vehicle: vehicle)
        ledger.sessions.odometerSettings = settings
        ledger.lost(lost)
        ledger.inserted(row, in: session)
        try removed(pruned)
        ledger.inserted(eventRows)
        try removed(events: prunedEvents)
    }

    /// Writes events and states that come without a location.
    ///
    /// - Parameter mayExist: an earlier attempt failed. Its COMMIT may have reached the file all the same.
    mutating func insert(_ new: NewCrossings, mayExist: Bool) throws(SQLiteError) {
        // States alone may be written twice.
        if mayExist, let name = RowName(new), try wasWritten(name) { return }
        let rows = try rows(for: new)
        let cutoffs = new.prunesByAge ? cutoffs(at: new.time, onlyBefore: new.agesOnlyBefore) : nil
        let pruned = try prunableEvents(before: cutoffs, besides: rows.count)
        let lost = ledger.losses(of: pruned, \.events)
        let tripped = try db.transaction { () throws(SQLiteError) in
            try write(rows, new.changes, pruning: pruned)
            try tables.counters.add(lost)
            return try new.trips.flatMap { (trips) throws(SQLiteError) in try write(trips) }
        }
        if let tripped, ledger.sessions.current?.key == tripped {
            ledger.sessions.current?.tail.vehicle.trip = new.trips?.open
        }
        ledger.lost(lost)
        ledger.inserted(rows)
        try removed(events: pruned)
    }

    /// The rows of the events, in the session that they belong to.
    private mutating func rows(for new: NewCrossings) throws(SQLiteError) -> [EventRow] {
        guard !new.events.isEmpty else { return [] }
        try enter(session: new.session, startedAt: new.sessionStartedAt, isTracking: new.isTracking)
        guard let session = ledger.sessions.current?.key else { return [] }
        let extras = try version(ofExtras: new.extras)
        let first = ledger.events.nextSeq
        return new.events.enumerated().map { index, event in
            EventRow(
                key: RowKey(ts: event.crossing.time.milliseconds, seq: first + Int64(index)),
                session: session, extras: extras, event: event)
        }
    }

    /// Part of a transaction.
    private func write(
        _ rows: [EventRow], _ changes: [Geofences.Change], pruning pruned: [RetainedRow]
    ) throws(SQLiteError) {
        try tables.events.insert(rows)
        try tables.geofenceStates.set(changes)
        try tables.events.remove(pruned)
    }

    /// The version number of a set of extras; 0 means none. New sets get the next number.
    mutating func version(ofExtras json: String?) throws(SQLiteError) -> Int64 {
        guard let json else { return 0 }
        if let known = ledger.extras.versions[json] { return known }
        if ledger.extras.isFull { try forgetUnusedExtras() }
        let version = ledger.extras.nextVersion
        try tables.extras.insert(json, version: version)
        ledger.extras.add(json, version: version)
        return version
    }

    /// Done once in a thousand new sets, because it reads every row.
    mutating func forgetUnusedExtras() throws(SQLiteError) {
        guard try tables.extras.removeUnused() else { return }
        ledger.extras.reset(to: try tables.extras.all())
    }

    /// Records the loss of fixes that never reached the store.
    mutating func count(refused: Int) throws(SQLiteError) {
        let lost = LossAccount(all: Losses(refused: refused))
        try tables.counters.add(lost)
        ledger.lost(lost)
    }

    // MARK: Geofence states

    /// Set once the states in this database are complete: not in one that was just created in place of a lost one.
    private static let knowsStates = "knows_geofence_states"

    /// The states by key; nil when this database does not have them all.
    func geofenceStates() throws(SQLiteError) -> [Int64: Bool]? {
        guard try tables.counters.value(Self.knowsStates) == 1 else { return nil }
        return try tables.geofenceStates.all()
    }

    /// From now on these, and no others, are the states.
    func replaceGeofenceStates(by states: [Geofences.Change]) throws(SQLiteError) {
        try db.transaction { () throws(SQLiteError) in
            try tables.geofenceStates.removeAll()
            try tables.geofenceStates.set(states)
            try tables.counters.set(Self.knowsStates, to: 1)
        }
    }

    /// The fences are no more.
    func forget(geofences keys: [Int64]) throws(SQLiteError) {
        try db.transaction { () throws(SQLiteError) in try tables.geofenceStates.remove(keys) }
    }
}
