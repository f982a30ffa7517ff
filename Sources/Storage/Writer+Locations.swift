package import Base
internal import SQLite
package import Tracking

/// What is to be written for one admitted fix.
package struct NewLocation: Sendable {
    /// The admitted fix.
    package var location: Location
    /// The session it was admitted in.
    package var session: UUIDv7
    /// When that session began, for its row, which is written with its first location.
    package var sessionStartedAt: Timestamp
    /// Metres of the session, this fix included.
    package var odometer: Double
    /// The extras in force, a JSON object; nil when there are none.
    package var extras: String?
    /// The fix time is trusted well enough to call other rows old by it.
    package var prunesByAge: Bool
    /// Only rows before this time may be deleted for their age, because time has jumped since. nil: all old ones.
    package var agesOnlyBefore: Timestamp?
    /// What is to be remembered about the observed times; nil leaves what is stored.
    package var ages: AgeTrust.Memory?
    /// What must survive of motion; nil leaves what is stored. Written only when it differs.
    package var memory: Admission.Memory?

    /// Everything that one write needs.
    package init(
        location: Location, session: UUIDv7, sessionStartedAt: Timestamp, odometer: Double, extras: String?,
        prunesByAge: Bool, agesOnlyBefore: Timestamp? = nil, ages: AgeTrust.Memory? = nil,
        memory: Admission.Memory? = nil
    ) {
        self.location = location
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.odometer = odometer
        self.extras = extras
        self.prunesByAge = prunesByAge
        self.agesOnlyBefore = agesOnlyBefore
        self.ages = ages
        self.memory = memory
    }
}

extension Writer {
    /// At most this many rows are pruned with one write, so that a lowered cap is reached in steps.
    private static let pruneLimit = 100
    /// The same where no fix waits to be written.
    private static let shrinkStep = 1000
    /// Rows looked at for their age with one write: more than one, so that it catches up.
    private static let ageLimit = 8

    /// Rows read at once in search of some that no batch holds.
    private static let searchStep = 64

    struct Prunable {
        var key: RowKey
        var session: Int64
        var isUploaded: Bool
        var extras: Int64
        /// It is deleted for its age, not for lack of room.
        var isOld = false

        func isMember(of batch: BatchMembers) -> Bool {
            batch.contains(key, session: session, extras: extras, isUploaded: isUploaded)
        }
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
        let cutoff = new.prunesByAge ? cutoff(at: time, onlyBefore: new.agesOnlyBefore) : nil
        let pruned = try prunable(before: cutoff)
        let prunedEvents = try prunableEvents(before: cutoff, besides: eventRows.count)
        let memory = new.memory ?? session.tail.memory
        let lost = losses(of: pruned) + losses(of: prunedEvents)
        try db.transaction { () throws(SQLiteError) in
            try row.run(statements.insert)
            if memory != session.tail.memory { try write(memory, ofSession: session.key) }
            try delete(pruned)
            if let ages = new.ages { try write(ages) }
            try write(eventRows, crossings?.changes ?? [], pruning: prunedEvents)
            try note(lost)
        }
        losses = losses + lost
        session.lastSeq = key.seq
        session.tail = SessionTail(
            reference: Gate.Reference(
                time: time, coordinate: new.location.fix.coordinate, bearing: new.location.fix.bearing),
            odometer: new.odometer, memory: memory)
        current = session
        tally.nextSeq += 1
        add(pending: key, ofSession: session.key)
        try book(pruned)
        try book(eventRows, prunedEvents)
    }

    func latestLocation() throws(SQLiteError) -> Location? {
        let row = try db.prepare("SELECT \(Schema.columns) FROM locations ORDER BY ts DESC, seq DESC LIMIT 1")
        guard try row.step() else { return nil }
        return LocationRow(row, sessionID: { sessions[$0] })?.location
    }

    /// Part of a transaction.
    func delete(_ pruned: [Prunable]) throws(SQLiteError) {
        for row in pruned { try statements.deleteRow.run(.integer(row.key.ts), .integer(row.key.seq)) }
    }

    /// Those of the rows to be deleted that no backend has received.
    private func losses(of pruned: [Prunable]) -> Losses {
        Losses(
            dropped: pruned.count { !$0.isUploaded && !$0.isOld },
            pruned: pruned.count { !$0.isUploaded && $0.isOld })
    }

    mutating func book(_ pruned: [Prunable]) throws(SQLiteError) {
        for row in pruned {
            tally.rows -= 1
            if row.isUploaded {
                tally.uploaded -= 1
            } else {
                remove(pending: 1, ofSession: row.session)
            }
        }
        if let oldest = tally.oldestPending, pruned.contains(where: { $0.key == oldest }) {
            try findOldestPending(from: oldest)
        }
    }

    func exists(_ location: Location) throws(SQLiteError) -> Bool {
        try statements.exists.bind([.integer(location.fix.time.milliseconds), .blob(location.id.bytes)])
        defer { statements.exists.reset() }
        return try statements.exists.step()
    }

    /// Older rows are deleted for their age.
    func cutoff(at time: Timestamp, onlyBefore limit: Timestamp?) -> Int64 {
        min(time.advanced(bySeconds: -options.retention), limit ?? time).milliseconds
    }

    /// What the rules of retention say must go, oldest first, once another row has been written. Never a member of a
    /// batch that is frozen or about to be.
    ///
    /// - Parameter cutoff: older rows are deleted for their age; nil: none are.
    private mutating func prunable(before cutoff: Int64?) throws(SQLiteError) -> [Prunable] {
        var doomed = try overCap(adding: 1, limit: Self.pruneLimit)
        guard let cutoff else { return doomed }
        var old =
            try options.isSyncing
            ? uploaded(before: cutoff, limit: Self.ageLimit)
            : oldest(Self.ageLimit).filter { $0.key.ts < cutoff }
        for index in old.indices { old[index].isOld = true }
        doomed += old.filter { row in !doomed.contains { $0.key == row.key } }
        return doomed
    }

    /// The rows that exceed the cap once `count` more have been written: first those that a backend has received.
    private mutating func overCap(adding count: Int = 0, limit: Int) throws(SQLiteError) -> [Prunable] {
        let surplus = min(tally.rows + count - rowLimit, limit)
        guard surplus > 0 else { return [] }
        let received = try uploaded(before: .max, limit: surplus)
        guard received.count < surplus else { return received }
        return Array((received + (try oldest(surplus).filter { !$0.isUploaded })).prefix(surplus))
    }

    /// One step towards a cap that has been lowered, without a new fix.
    ///
    /// - Returns: whether another step is to follow.
    mutating func shrink() throws(SQLiteError) -> Bool {
        let pruned = try overCap(limit: Self.shrinkStep)
        guard !pruned.isEmpty else { return false }
        let lost = losses(of: pruned)
        try db.transaction { () throws(SQLiteError) in
            try delete(pruned)
            try note(lost)
            try writeTail()
        }
        losses = losses + lost
        try book(pruned)
        return tally.rows > rowLimit
    }

    /// Which rows to delete to make room for `wanted` dead letters, and for how many of these there is room then.
    /// Only rows that a backend has received are deleted for this.
    mutating func room(for wanted: Int) throws(SQLiteError) -> (count: Int, doomed: [Prunable]) {
        let free = max(rowLimit - tally.rows, 0)
        let doomed = wanted > free ? try uploaded(before: .max, limit: wanted - free) : []
        return (min(wanted, free + doomed.count), doomed)
    }

    /// Uploaded rows, oldest first; all of them must be deleted, because the next search begins after them.
    private mutating func uploaded(before cutoff: Int64, limit: Int) throws(SQLiteError) -> [Prunable] {
        guard tally.uploaded > 0 else { return [] }
        let start = tally.uploadedFrom
        try statements.oldestUploaded.bind([
            .integer(start.ts), .integer(start.seq), .integer(cutoff), .integer(Int64(limit)),
        ])
        let found = try rows(statements.oldestUploaded)
        let last = found.last?.key.next
        let end = found.count < limit ? RowKey(ts: cutoff, seq: .min) : last
        tally.uploadedFrom = max(start, end ?? start)
        return found
    }

    /// The oldest rows outside every batch.
    private mutating func oldest(_ limit: Int) throws(SQLiteError) -> [Prunable] {
        let reserved = frozen.map(\.members) + (draft.map { [$0] } ?? [])
        var step = limit
        var found: [Prunable] = []
        var from = tally.prunableFrom
        while found.count < limit {
            try statements.oldest.bind([.integer(from.ts), .integer(from.seq), .integer(Int64(step))])
            let page = try rows(statements.oldest)
            found += page.filter { row in !reserved.contains { row.isMember(of: $0) } }
            guard page.count == step, let last = page.last?.key else { break }
            from = last.next
            step = max(limit, Self.searchStep)
        }
        tally.prunableFrom = found.first?.key ?? from
        return Array(found.prefix(limit))
    }

    private func rows(_ statement: borrowing Statement) throws(SQLiteError) -> [Prunable] {
        var rows: [Prunable] = []
        while try statement.step() {
            rows.append(
                Prunable(
                    key: RowKey(ts: statement.integer(0), seq: statement.integer(1)),
                    session: statement.integer(2), isUploaded: statement.integer(3) != 0,
                    extras: statement.integer(4)))
        }
        statement.reset()
        return rows
    }

    /// The version number of a set of extras; 0 means none. New sets get the next number.
    mutating func version(ofExtras json: String?) throws(SQLiteError) -> Int64 {
        guard let json else { return 0 }
        if let known = extras[json] { return known }
        if extras.count >= extrasLimit { try forgetUnusedExtras() }
        let version = Self.unused(besides: extras.values)
        try db.prepare("INSERT INTO extras (version, json) VALUES (?, ?)").run(.integer(version), .text(json))
        extras[json] = version
        return version
    }
}
