internal import Base
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// Geofences: what they are is kept in a small file; whether the vehicle is inside is kept in the database, in the
/// transaction of the event that tells, and once more beside it, for the day when the database is lost.
extension Reader {
    /// Takes up the fences, each in the state in which it was last decided.
    func resumeGeofences(now: BootInstant) {
        let found = content(
            of: hub.files.readGeofences(), otherwise: "there are no geofences until they are added again")
        fences = found ?? Geofences()
        keptInside = content(of: hub.files.readInside(), otherwise: "the database knows the same")
        let known: [Int64: Bool]?
        do {
            known = try hub.store.geofenceStates()
        } catch {
            noteStates(error, now: now)
            known = nil
        }
        let inside = keptInside ?? []
        fences = Geofences(
            fences.items.map { item in
                var item = item
                item.isInside = known.map { $0[item.key] } ?? (inside.contains(item.key) ? true : nil)
                return item
            }, nextKey: fences.nextKey)
        mustAdoptStates = known.map { $0.count > fences.items.count { $0.isInside != nil } } ?? true
        keepStates(now: now)
    }

    // MARK: What is asked for

    /// Durable before the answer, all or nothing.
    func add(geofences list: [Geofence], _ token: Token, now: BootInstant) {
        var changed = fences
        if let id = changed.add(list) {
            let reason = "there can be \(Geofences.limit) geofences at most"
            let failure = Failure(kind: .geofence(id: id), reason: reason)
            return hub.complete(token, .failure(failure))
        }
        let result = adopt(changed, now: now)
        // The snapshot first: clients that are notified read it.
        publish(now: now)
        hub.complete(token, result.map { .done })
    }

    /// Unknown ids are no matter.
    func remove(geofences ids: [String], _ token: Token, now: BootInstant) {
        var changed = fences
        let removed = changed.remove(ids)
        let result = removed == 0 ? .success(()) : adopt(changed, now: now)
        publish(now: now)
        hub.complete(token, result.map { .count(removed) })
    }

    private func adopt(_ changed: Geofences, now: BootInstant) -> Result<Void, Failure> {
        do {
            try hub.files.write(changed)
            hub.board.note(renewed: SmallFiles.Name.geofences)
        } catch {
            return .failure(Failure(reason: "the geofences could not be written: \(error)"))
        }
        let left = Set(changed.items.map(\.key))
        let gone = fences.items.filter { $0.isInside != nil && !left.contains($0.key) }.map(\.key)
        fences = changed
        do {
            // What stays behind when this fails is no fence's state: keys are never used again.
            if !gone.isEmpty { try hub.store.forget(geofences: gone) }
        } catch {
            recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
                try store.forget(geofences: gone)
            }
        }
        keepStates(now: now)
        return .success(())
    }

    // MARK: What fixes decide

    /// What the fix has decided, ready to be written; nil when that is nothing.
    func judgeGeofences(_ observed: Admission.Observation, now: BootInstant) -> NewCrossings? {
        let fix = observed.fix
        let verdict = fences.judge(
            fix, isImplausible: observed.quality == .implausibleSpeed, isParked: observed.isParked)
        guard !verdict.isEmpty else { return nil }
        let time = fix.time
        if session == nil, eventSession == nil, !verdict.crossings.isEmpty {
            eventSession = (ids.next(at: time), time)
        }
        let home = session ?? eventSession ?? (ids.next(at: time), time)
        let events = verdict.crossings.map { crossing in
            GeofenceEvent(id: ids.next(at: crossing.time), session: home.id, crossing: crossing)
        }
        let ages = ages(at: fix, now: now)
        return NewCrossings(
            events: events, changes: verdict.changes, session: home.id, sessionStartedAt: home.startedAt,
            isTracking: session != nil, extras: extras, time: time, prunesByAge: ages.prunes,
            agesOnlyBefore: ages.onlyBefore)
    }

    /// Writes what was decided by a fix that is not stored itself.
    func record(_ crossings: NewCrossings?, now: BootInstant) {
        guard let crossings else { return }
        recorder.add(crossings)
        flushUnlessFailing(now: now)
    }

    /// The event is stored.
    func announce(_ event: GeofenceEvent) {
        let verb = event.crossing.kind == .enter ? "entered" : "left"
        Log.info(
            .geofenceCrossed, "\(verb) geofence \(event.crossing.geofence) at \(event.crossing.time.iso8601)",
            [(.geofence, event.crossing.geofence), (.session, event.session.description)])
        if hub.board.hasListeners.load(ordering: .relaxed) { hub.post(.crossed(event)) }
    }

    /// Keeps what is stored of the states beside the database, too, and tells a new database all of them. Not while
    /// anything still waits to be stored: neither may run ahead of the events.
    func keepStates(now: BootInstant) {
        guard recorder.waiting == 0 else { return }
        if mustAdoptStates {
            let states = fences.items.compactMap { item in
                item.isInside.map { Geofences.Change(key: item.key, isInside: $0) }
            }
            do {
                try hub.store.adopt(states)
                mustAdoptStates = false
            } catch {
                noteStates(error, now: now)
            }
        }
        let inside = fences.insideKeys
        mustKeepStates = false
        guard inside != keptInside ?? [] else { return }
        do {
            try hub.files.write(inside: inside)
            hub.board.note(renewed: SmallFiles.Name.inside)
            keptInside = inside
        } catch {
            mustKeepStates = true
            Log.debug(
                .storageFailed, "the states of the geofences could not be kept beside the database: \(error)")
        }
    }

    /// The states are told again after the next flush that succeeds; reading them tells that storage works.
    private func noteStates(_ error: StorageError, now: BootInstant) {
        recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
            _ = try store.geofenceStates()
        }
    }

    /// The database was removed under the daemon, and the small files perhaps with it.
    func writeGeofencesAgain() {
        keptInside = nil
        guard !fences.isEmpty else { return }
        do {
            try hub.files.write(fences)
        } catch {
            Log.error(.storageFailed, "the geofences could not be written again: \(error)")
        }
    }
}
