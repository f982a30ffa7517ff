package import Base
internal import SQLite
package import Tracking

/// What the reader thread asks for: sessions, deletions, dead letters, and what it remembers.
extension Store {
    /// Makes the session the current one, writing it down when it is new.
    ///
    /// - Returns: what is known of its last admitted fix.
    @available(*, noasync, message: "blocks on the disk")
    package func enter(session: UUIDv7, startedAt: Timestamp) throws(StorageError) -> SessionTail? {
        try perform("enter session") { (writer) throws(SQLiteError) in
            try writer.enter(session: session, startedAt: startedAt)
            return writer.ledger.sessions.current?.tail
        }
    }

    /// The newest location that is still stored.
    @available(*, noasync, message: "blocks on the disk")
    package func latestLocation() throws(StorageError) -> Location? {
        try perform("read latest location") { (writer) throws(SQLiteError) in
            let ids = writer.ledger.sessions.ids
            return try writer.tables.locations.latest(sessionID: { ids[$0] })
        }
    }

    /// The session ends; its locations stay.
    @available(*, noasync, message: "blocks on the disk")
    package func close(session: UUIDv7, at time: Timestamp) throws(StorageError) {
        try perform("close session") { (writer) throws(SQLiteError) in
            try writer.close(session: session, at: time)
        }
    }

    /// The newest tracking session, and whether it has no end; one without an end comes first. nil when the database
    /// has none.
    @available(*, noasync, message: "blocks on the disk")
    package func latestTrackingSession() throws(StorageError) -> (
        session: (id: UUIDv7, startedAt: Timestamp), isOpen: Bool
    )? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.latestTracking()
        }
    }

    /// The tracking session without an end in the database; the newest if there are several.
    @available(*, noasync, message: "blocks on the disk")
    package func openTrackingSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.newestOpen(isTracking: true)
        }
    }

    /// One step, of at most 1,000 rows, towards a cap that has been lowered.
    ///
    /// - Returns: whether another step is to follow.
    @available(*, noasync, message: "blocks on the disk")
    package func shrink() throws(StorageError) -> Bool {
        try performAtAnyCost("prune") { (writer) throws(SQLiteError) in try writer.shrink() }
    }

    /// Starts a deletion of everything at or before `cutoff`, or of everything that is there now.
    @available(*, noasync, message: "blocks on the disk")
    package func beginDeletion(before cutoff: Timestamp?) throws(StorageError) -> Deletion {
        let deletion = try performAtAnyCost("delete") { (writer) throws(SQLiteError) in
            try writer.beginDeletion(before: cutoff)
        }
        note(deletion)
        return deletion
    }

    /// A deletion that was interrupted; to be continued like any other.
    @available(*, noasync, message: "blocks on the disk")
    package func unfinishedDeletion() throws(StorageError) -> Deletion? {
        let deletion = try perform("read deletion") { (writer) throws(SQLiteError) in
            try writer.unfinishedDeletion()
        }
        note(deletion)
        return deletion
    }

    /// One step: at most 1,000 rows, or one of the steps that follow them.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with deletion: inout Deletion) throws(StorageError) {
        if deletion.stage == .files { try removeAside(&deletion) }
        deletion = try performAtAnyCost("delete") { [deletion] (writer) throws(SQLiteError) in
            var deletion = deletion
            if deletion.stage == .rows {
                try writer.proceed(with: &deletion)
            } else {
                try writer.erase(&deletion)
            }
            return deletion
        }
        note(deletion)
    }

    private func removeAside(_ deletion: inout Deletion) throws(StorageError) {
        if deletion.cutoff == nil { try Quarantine(files).removeAside(of: path) }
        deletion.kept = try Quarantine(files).asideNames(of: path)
    }

    // MARK: Dead letters, kept rows

    /// Starts to re-queue, or to delete, the dead letters that are there now.
    @available(*, noasync, message: "blocks on the disk")
    package func begin(_ act: RejectedWork.Act, of destination: DestinationName = .main) throws(StorageError)
        -> RejectedWork
    {
        try perform("read dead letters") { (writer) throws(SQLiteError) in
            RejectedWork(act: act, destination: destination, left: writer.ledger[destination].rejected)
        }
    }

    /// One step of at most 1,000 rows, in one transaction.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with work: inout RejectedWork) throws(StorageError) {
        work = try performAtAnyCost("move dead letters") { [work] (writer) throws(SQLiteError) in
            var work = work
            try writer.proceed(with: &work)
            return work
        }
    }

    /// One step of at most 1,000 rows, in one transaction.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with work: inout Resend) throws(StorageError) {
        work = try performAtAnyCost("send again") { [work] (writer) throws(SQLiteError) in
            var work = work
            try writer.proceed(with: &work)
            return work
        }
    }

    /// One step of at most 1,000 rows, in one transaction.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with work: inout Backfill) throws(StorageError) {
        work = try performAtAnyCost("backfill") { [work] (writer) throws(SQLiteError) in
            var work = work
            try writer.proceed(with: &work)
            return work
        }
    }

    /// One step of at most 1,000 rows. A destination that is configured, or unknown, is not forgotten.
    @available(*, noasync, message: "blocks on the disk")
    package func proceed(with work: inout Forgetting) throws(StorageError) {
        work = try performAtAnyCost("forget destination") { [work] (writer) throws(SQLiteError) in
            var work = work
            try writer.proceed(with: &work)
            return work
        }
    }

    // MARK: What is remembered beside the rows

    /// What was written with the rows about the observed times; in a database without it, the time of its newest row.
    @available(*, noasync, message: "blocks on the disk")
    package func ageMemory() throws(StorageError) -> AgeTrust.Memory {
        try perform("read ages") { (writer) throws(SQLiteError) in
            if let known = try writer.tables.counters.ages() { return known }
            let newest = try Schema.newestTime(in: writer.db)
            return AgeTrust.Memory(latest: newest.map { Timestamp(milliseconds: $0) })
        }
    }

    /// Counts fixes that were refused while the database could not be written.
    @available(*, noasync, message: "blocks on the disk")
    package func count(refused: Int) throws(StorageError) {
        try perform("count refused fixes") { (writer) throws(SQLiteError) in
            try writer.count(refused: refused)
        }
    }

    // MARK: Events, geofences, the vehicle

    /// The newest event of this kind that is stored, by when it was stored; nil when there is none.
    @available(*, noasync, message: "blocks on the disk")
    package func latestEvent(of kind: VehicleEvent.Kind) throws(StorageError) -> VehicleEvent? {
        try perform("read latest event") { (writer) throws(SQLiteError) in
            let ids = writer.ledger.sessions.ids
            guard let row = try writer.tables.events.latest(of: kind), let session = ids[row.session],
                case .vehicle(let event) = row.event(session: session)
            else { return nil }
            return event
        }
    }

    /// Time can be trusted now: gives each event that has no time yet the one it happened at, in one transaction. Those of
    /// another boot get the latest time that is known of it, marked as an estimate.
    ///
    /// - Returns: how many there were.
    @available(*, noasync, message: "blocks on the disk")
    package func stampEvents(by anchor: EventTime.Anchor) throws(StorageError) -> Int {
        try perform("stamp events") { (writer) throws(SQLiteError) in try writer.stamp(by: anchor) }
    }

    /// The states by the fences' keys; nil when this database does not know them all, because it is new.
    @available(*, noasync, message: "blocks on the disk")
    package func geofenceStates() throws(StorageError) -> [Int64: Geofences.Change]? {
        try perform("read geofence states") { (writer) throws(SQLiteError) in try writer.geofenceStates() }
    }

    /// From now on these are the states, and this database knows them all.
    @available(*, noasync, message: "blocks on the disk")
    package func adopt(_ states: [Geofences.Change]) throws(StorageError) {
        try perform("write geofence states") { (writer) throws(SQLiteError) in
            try writer.replaceGeofenceStates(by: states)
        }
    }

    /// The fences are no more.
    @available(*, noasync, message: "blocks on the disk")
    package func forget(geofences keys: [Int64]) throws(StorageError) {
        try perform("forget geofences") { (writer) throws(SQLiteError) in try writer.forget(geofences: keys) }
    }

    /// The session of the events between two sessions of tracking, while it lasts.
    @available(*, noasync, message: "blocks on the disk")
    package func openEventSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read event session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.newestOpen(isTracking: false)
        }
    }

    /// The odometer and the trip under way, as of the newest location.
    @available(*, noasync, message: "blocks on the disk")
    package func vehicle() throws(StorageError) -> VehicleMemory {
        try perform("read odometer") { (writer) throws(SQLiteError) in try writer.vehicle() }
    }
}
