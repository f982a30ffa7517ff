internal import Base
internal import Linux
internal import Storage
internal import Tracking

/// The geofences: what they are is kept in a small file; whether the vehicle is inside is kept in the database, in the
/// transaction of the event, and once more beside it, for the day when the database is lost.
///
/// Confined to the reader's thread.
final class FenceKeeper {
    private let hub: Hub
    private let recorder: Recorder
    /// Fixes change their states, users the rest.
    var geofences = Geofences()
    /// The session of the events between two sessions of tracking.
    var eventSession: Session?
    /// All of them, for the board; nil before they have been read.
    private(set) var known: [Geofence]?
    /// A summary of the geofences that servers have added; nil before they have been read.
    private(set) var ofServers: Geofences.Summary?
    /// What the small file beside the database says of the states.
    private var keptInside: Set<Int64>?
    /// The database does not know the states of all fences yet.
    private var mustStoreStates = false
    /// States have changed since they were last kept beside the database.
    private var mustKeepStates = false

    init(hub: Hub, recorder: Recorder) {
        self.hub = hub
        self.recorder = recorder
    }

    /// Takes up the fences, each in the state in which it was last decided.
    func resume(now: BootInstant) {
        let found = hub.content(
            of: hub.files.read(StoredGeofences.self).map(\.value),
            otherwise: "there are no geofences until they are added again")
        let stored: [Int64: Geofences.Change]?
        keptInside = hub.content(
            of: hub.files.read(StoredInside.self).map(\.keys), otherwise: "the database knows the same")
        do {
            stored = try hub.store.geofenceStates()
        } catch {
            note(error, now: now)
            stored = nil
        }
        let inside = keptInside ?? []
        let items = (found?.items ?? []).map { item in
            var item = item
            // Without the database nobody knows since when, or whether the stay has been recorded: it is not twice.
            item.isInside = stored.map { $0[item.key]?.isInside } ?? (inside.contains(item.key) ? true : nil)
            return item
        }
        geofences = Geofences(
            items, nextKey: found?.nextKey ?? 1, entered: (stored ?? [:]).compactMapValues(\.enteredAt))
        settleOrigins(now: now)
        known = geofences.all
        ofServers = geofences.summaryOfServers
        mustStoreStates = stored.map { $0.count > items.count { $0.isInside != nil } } ?? true
        keepStates(now: now)
    }

    /// Fences that were added before they remembered whose they are: the journal says which are a server's.
    private func settleOrigins(now: BootInstant) {
        guard geofences.items.contains(where: { $0.origin == nil }) else { return }
        do {
            let served = ServedFences(try hub.store.commands(named: ServedFences.commands))
            var settled = geofences
            settled.settleOrigins { served.added($0) }
            try hub.files.write(StoredGeofences(settled))
            geofences = settled
        } catch let error as StorageError {
            // They count as a person's until the next start, which tries again.
            note(error, now: now)
        } catch {
            Log.error(.storageFailed, "whose geofences are could not be written: \(error)")
        }
    }

    // MARK: What users change

    /// Makes exits durable, before the fences change: from those that the vehicle is in, of which these keys are gone.
    typealias Exits = (_ left: [Geofences.Item], _ gone: [Int64]) throws(CommandFailure) -> Void

    /// Durable when it returns, all or nothing.
    ///
    /// - Parameter origin: who adds them. What is a person's cannot be replaced by a server's.
    func add(
        _ list: [Geofence], by origin: Geofences.Origin = .person, now: BootInstant, recording exits: Exits
    ) throws(CommandFailure) {
        if origin == .server, let id = geofences.personsAmong(list) {
            throw CommandFailure(kind: .exists(id: id))
        }
        var changed = geofences
        if let excess = changed.add(list, by: origin, at: hub.clock.time(now: now)) {
            throw CommandFailure(kind: .geofence(id: excess.id), reason: excess.reason)
        }
        try record(exits, leadingTo: changed)
        try replace(with: changed, now: now)
    }

    /// Unknown ids are ignored.
    ///
    /// - Returns: the number of fences removed.
    func remove(_ ids: [String], now: BootInstant, recording exits: Exits) throws(CommandFailure) -> Int {
        var changed = geofences
        let removed = changed.remove(ids)
        guard removed > 0 else { return 0 }
        try record(exits, leadingTo: changed)
        try replace(with: changed, now: now)
        return removed
    }

    private func record(_ exits: Exits, leadingTo changed: Geofences) throws(CommandFailure) {
        let left = geofences.left(by: changed)
        guard !left.isEmpty else { return }
        try exits(left, left.filter { changed.item($0.fence.id)?.key != $0.key }.map(\.key))
    }

    private func replace(with changed: Geofences, now: BootInstant) throws(CommandFailure) {
        do {
            try hub.files.write(StoredGeofences(changed))
        } catch {
            throw CommandFailure(reason: "the geofences could not be written: \(error)")
        }
        hub.board.note(renewed: SmallFiles.Name.geofences)
        let left = Set(changed.items.map(\.key))
        let gone = geofences.items.filter { $0.isInside != nil && !left.contains($0.key) }.map(\.key)
        geofences = changed
        known = geofences.all
        ofServers = geofences.summaryOfServers
        do {
            // What stays behind when this fails belongs to no fence: keys are never used again.
            if !gone.isEmpty { try hub.store.forget(geofences: gone) }
        } catch {
            recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
                try store.forget(geofences: gone)
            }
        }
        keepStates(now: now)
    }

    // MARK: States

    /// States have been stored with events.
    func noteStoredStates() { mustKeepStates = true }

    /// Pauses the geofences that servers have set, or resumes them.
    func pauseServers(_ isPaused: Bool) { geofences.pausesServers = isPaused }

    /// The database is a new one, or has lost rows.
    func noteChangedDatabase() { mustStoreStates = true }

    /// Writes what has changed.
    func keepChangedStates(now: BootInstant) {
        if mustStoreStates || mustKeepStates { keepStates(now: now) }
    }

    /// Keeps what is stored of the states beside the database, too, and writes all of them to a new database. Not while
    /// anything still waits to be stored: neither may run ahead of the events.
    private func keepStates(now: BootInstant) {
        guard recorder.waiting == 0 else { return }
        if mustStoreStates {
            let states = geofences.items.compactMap { item in
                item.isInside.map {
                    Geofences.Change(key: item.key, isInside: $0, enteredAt: geofences.entered[item.key])
                }
            }
            do {
                try hub.store.adopt(states)
                mustStoreStates = false
            } catch {
                note(error, now: now)
            }
        }
        let inside = geofences.insideKeys
        mustKeepStates = false
        guard inside != keptInside ?? [] else { return }
        do {
            try hub.files.write(StoredInside(inside))
            hub.board.note(renewed: SmallFiles.Name.inside)
            keptInside = inside
        } catch {
            mustKeepStates = true
            Log.debug(
                .storageFailed, "the states of the geofences could not be kept beside the database: \(error)")
        }
    }

    /// The states are written again after the next flush that succeeds; reading them shows that storage works.
    private func note(_ error: StorageError, now: BootInstant) {
        recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
            _ = try store.geofenceStates()
        }
    }

    /// The database was removed under the daemon, and the small files perhaps with it.
    func writeAgain() {
        keptInside = nil
        guard !geofences.isEmpty else { return }
        do {
            try hub.files.write(StoredGeofences(geofences))
        } catch {
            Log.error(.storageFailed, "the geofences could not be written again: \(error)")
        }
    }
}
