internal import Base
internal import SQLite
internal import Tracking

/// What the reader writes with each fix.
extension Writer {
    /// Writes a location and applies retention, in one transaction.
    ///
    /// - Parameter mayExist: an earlier attempt failed. Its COMMIT may have reached the file all the same, so look
    ///   before writing the same row twice.
    /// - Returns: false: the session has come to this instant already. Then all is written but the location.
    @discardableResult
    mutating func insert(
        _ new: NewLocation, _ crossings: NewEvents? = nil, mayExist: Bool
    ) throws(SQLiteError) -> Bool {
        if mayExist, try wasWritten(RowName(new)) { return true }
        try enter(session: new.session, startedAt: new.sessionStartedAt)
        if ledger.sessions.current?.hasPassed(new.location.fix.time, in: new.run) == true {
            if let ages = new.ages { try tables.counters.set(ages) }
            if let crossings { try insert(crossings, mayExist: mayExist) }
            return false
        }
        try write(new, crossings)
        return true
    }

    private mutating func write(_ new: NewLocation, _ crossings: NewEvents?) throws(SQLiteError) {
        guard var session = ledger.sessions.current else { return }
        let extras = try version(ofExtras: new.extras)
        let time = new.location.fix.time
        let row = LocationRow(
            key: RowKey(ts: time.milliseconds, seq: ledger.locations.nextSeq), session: session.key,
            extras: extras, odometer: new.odometer, location: new.location)
        let eventRows = try crossings.map { (new) throws(SQLiteError) in try rows(for: new) } ?? []
        let excused = excused(from: eventRows)
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
            try write(eventRows, of: crossings, pruning: prunedEvents, excusing: excused)
            try tables.counters.add(lost)
        }
        for (name, owed) in excused { ledger[name].owed = owed }
        session.lastSeq = row.key.seq
        session.tail = SessionTail(
            reference: Gate.Reference(
                time: time, coordinate: new.location.fix.coordinate, bearing: new.location.fix.bearing),
            odometer: new.odometer, memory: memory, vehicle: vehicle)
        session.run = new.run ?? session.run
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
    mutating func insert(_ new: NewEvents, mayExist: Bool) throws(SQLiteError) {
        // States alone may be written twice.
        if mayExist, let name = RowName(new), try wasWritten(name) { return }
        let rows = try rows(for: new)
        let excused = excused(from: rows)
        let cutoffs = new.prunesByAge ? cutoffs(at: new.time, onlyBefore: new.agesOnlyBefore) : nil
        let pruned = try prunableEvents(before: cutoffs, besides: rows.count)
        let lost = ledger.losses(of: pruned, \.events)
        let tripped = try db.transaction { () throws(SQLiteError) in
            try write(rows, of: new, pruning: pruned, excusing: excused)
            try tables.counters.add(lost)
            return try new.trips.flatMap { (trips) throws(SQLiteError) in try write(trips) }
        }
        if let tripped, ledger.sessions.current?.key == tripped {
            ledger.sessions.current?.tail.vehicle.trip = new.trips?.open
        }
        for (name, owed) in excused { ledger[name].owed = owed }
        ledger.lost(lost)
        ledger.inserted(rows)
        try removed(events: pruned)
    }

    /// The rows of the events, in the session that they belong to.
    private mutating func rows(for new: NewEvents) throws(SQLiteError) -> [EventRow] {
        let events = new.all
        guard !events.isEmpty else { return [] }
        try enter(session: new.session, startedAt: new.sessionStartedAt, isTracking: new.isTracking)
        guard let session = ledger.sessions.current?.key else { return [] }
        let extras = try version(ofExtras: new.extras)
        let first = ledger.events.nextSeq
        return events.enumerated().map { index, event in
            var row = EventRow(
                seq: first + Int64(index), session: session, extras: extras, event: event)
            row.custody = custody(of: event)
            return row
        }
    }

    /// Whether anybody is owed such an event from now on. A destination that is not configured any more may come back with
    /// a format that carries it.
    private func custody(of event: RecordedEvent) -> EventRow.Custody {
        switch event {
        // A destination that is added later may be owed those as well.
        case .crossing: return .pending
        case .vehicle(let event):
            guard options.uploadedEvents.contains(event.happening.kind) else { return .local }
            return isAwaited(\.carriesVehicleEvents) ? .pending : .local
        }
    }

    private func isAwaited(_ isCarried: (StoreOptions.Destination) -> Bool) -> Bool {
        options.destinations.isEmpty || options.destinations.contains(where: isCarried)
            || ledger.backlogs.contains { $0.isOrphaned && $0.owed.events.isOpen }
    }

    /// What destinations are owed that cannot be sent some of these events, and are not to be owed those.
    private func excused(from rows: [EventRow]) -> [(DestinationName, Backlog.Owed)] {
        guard ledger.hasDebts else { return [] }
        let awaited = rows.filter { $0.custody == .pending }
        return options.destinations.compactMap { destination in
            let strange = awaited.filter {
                $0.isOfVehicle ? !destination.carriesVehicleEvents : !destination.carriesCrossings
            }
            var owed = ledger[destination.name].owed
            guard !strange.isEmpty, owed.events.isOpen else { return nil }
            owed.events.subtract(SeqSet(strange.map { $0.key.seq...$0.key.seq }))
            return (destination.name, owed)
        }
    }

    /// Part of a transaction.
    private func write(
        _ rows: [EventRow], of new: NewEvents?, pruning pruned: [RetainedRow],
        excusing excused: [(DestinationName, Backlog.Owed)]
    ) throws(SQLiteError) {
        try tables.events.insert(rows)
        try writeDebts(excused)
        try tables.geofenceStates.set(new?.changes ?? [])
        try tables.geofenceStates.remove(new?.forgotten ?? [])
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

    /// Gives all events that happened before the time was known the time that they happened at, for good; from then on they
    /// are pending like any others.
    mutating func stamp(by anchor: EventTime.Anchor) throws(SQLiteError) -> Int {
        let rows = try tables.events.untimed()
        guard !rows.isEmpty else { return 0 }
        // None of this boot is stored that is later than they are: it would have stamped them.
        let last = try tables.lastTime().map { Timestamp(milliseconds: $0) }
        let times = rows.compactMap { row in
            var time = row.time
            time.settle(by: anchor, lastTrusted: last)
            return switch time {
            case .known(let time, let isEstimated): (row.key.seq, time, isEstimated)
            case .pending: nil as (Int64, Timestamp, Bool)?
            }
        }
        try db.transaction { () throws(SQLiteError) in try tables.events.stamp(times) }
        try countEvents()
        return times.count
    }

    // MARK: Geofence states

    /// Set once the states in this database are complete: not in one that was just created in place of a lost one.
    static let knowsStates = "knows_geofence_states"

    /// The states by key; nil when this database does not have them all.
    func geofenceStates() throws(SQLiteError) -> [Int64: Geofences.Change]? {
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

extension Tables {
    /// The latest time that is known of any row, also of locations that have left.
    func lastTime() throws(SQLiteError) -> Int64? {
        let newest = try sessions.lastTime()
        return [newest, try locations.lastTime(), try events.lastTime()].compactMap(\.self).max()
    }
}
