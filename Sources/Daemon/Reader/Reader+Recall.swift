internal import Base
internal import Configuration
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// What the store remembers and the reader needs. If storage fails at the start, it is read as soon as storage works,
/// before anything else is written.
extension Reader {
    /// What has not been read yet.
    struct Missing: OptionSet {
        let rawValue: Int
        /// The newest location: for clients, and for the clock, which cannot be earlier.
        static let latest = Missing(rawValue: 1)
        /// The last admitted fix of the session, with which the gate compares.
        static let tail = Missing(rawValue: 2)
        /// Which times have been trusted.
        static let ages = Missing(rawValue: 4)
        /// A deletion that was interrupted.
        static let deletion = Missing(rawValue: 8)
        /// The session of the events between two sessions.
        static let eventSession = Missing(rawValue: 16)
        /// What was intended, which no file says: whether a session is open, has ended, or none was ever started.
        static let intent = Missing(rawValue: 32)
    }

    func recall(_ wanted: Missing, now: BootInstant) {
        missing.formUnion(wanted)
        recall(now: now)
    }

    func recall(now: BootInstant) {
        guard !missing.isEmpty else { return }
        do throws(StorageError) {
            try askStore(now: now)
        } catch {
            // Reading it shows that storage works again; then it is read before the waiting fixes are written.
            let repair: Recorder.Repair? =
                isRecallNoted
                ? nil : { [store = hub.store] () throws(StorageError) in _ = try store.latestLocation() }
            isRecallNoted = true
            recorder.note(error, now: now, repair: repair)
        }
    }

    private func askStore(now: BootInstant) throws(StorageError) {
        if missing.contains(.deletion) {
            if deletion == nil, let work = try hub.store.unfinishedDeletion() {
                Log.notice(.erased, "a deletion that was interrupted continues")
                deletion = DeletionUnderWay(work: work)
            }
            missing.remove(.deletion)
        }
        if missing.contains(.latest) {
            let newest = try hub.store.latestLocation()
            if let time = newest?.fix.time { hub.clock.raise(to: time, now: now) }
            // What is being deleted must not be shown again.
            if lastLocation == nil, !isDoomed(newest?.fix.time) { lastLocation = newest }
            missing.remove(.latest)
        }
        if missing.contains(.ages) {
            let memory = try hub.store.ageMemory()
            hub.ages.withLock { $0 = $0 ?? AgeTrust(memory) }
            missing.remove(.ages)
        }
        if missing.contains(.intent) {
            let latest = try hub.store.latestTrackingSession()
            missing.remove(.intent)
            takeUpIntent(of: latest, now: now)
        }
        if missing.contains(.tail) {
            if let session {
                adopt(try hub.store.enter(session: session.id, startedAt: session.startedAt))
            }
            missing.remove(.tail)
        }
        if missing.contains(.eventSession) {
            let open = try hub.store.openEventSession()
            if session == nil, eventSession == nil { eventSession = open }
            missing.remove(.eventSession)
        }
        isRecallNoted = false
    }

    /// - Parameter tail: what the store knows about the current session.
    private func adopt(_ tail: SessionTail?) {
        guard var tail else { return }
        // What is being deleted must not come back with the next row: only the length of the session is kept.
        if let deletion, deletion.work.cutoff == nil || tail.reference.map({ isDoomed($0.time) }) ?? true {
            (tail.reference, tail.memory) = (nil, Admission.Memory())
        }
        if admittedInSession == 0 {
            admission = Admission(
                thresholds: Admission.Thresholds(settings.tracking), last: tail.reference,
                memory: tail.memory,
                odometer: tail.odometer)
        } else if recorder.waiting > 0, recorder.waiting >= admittedInSession {
            // Fixes were admitted without it, and none of them is stored yet: the distance before them counts, too.
            admission.add(odometer: tail.odometer)
            recorder.add(odometer: tail.odometer)
        }
    }
}
