internal import Base
internal import Storage
internal import Tracking

/// Puts admitted fixes, and events, into the store in order. While storage fails they wait
/// in memory, as many as there is room for; whatever else fails is tried again after them.
///
/// Confined to the reader's thread.
final class Recorder {
    struct Result {
        /// Locations whose COMMIT has returned.
        var stored: [Location] = []
        /// Geofence events whose COMMIT has returned.
        var events: [GeofenceEvent] = []
        /// Other events whose COMMIT has returned.
        var vehicleEvents: [VehicleEvent] = []
        /// States of geofences have been written.
        var hasStates = false
        /// Pending locations after the last of them.
        var pending: Int?

        mutating func add(_ new: NewEvents) {
            events += new.events
            vehicleEvents += new.vehicleEvents
            hasStates = hasStates || !new.changes.isEmpty
        }
    }

    /// What is written in one transaction.
    private enum Entry {
        case location(NewLocation, NewEvents?)
        case events(NewEvents)
    }

    /// An operation that failed, to be tried again.
    typealias Repair = () throws(StorageError) -> Void

    /// Fixes that wait at most; more are refused and counted.
    static let limit = 256
    /// Room besides for events, of which there are few: an exit that got lost would make two entries in a row.
    private static let limitWithEvents = 512
    /// Seconds between attempts when no fix comes.
    private static let retryDelay = 1.0
    /// Seconds; after a write that took longer, the others wait until everything else has had its turn.
    private static let patience = 0.5

    private let store: Store
    private var queue: [Entry] = []
    /// What else has failed, and is tried again after the fixes.
    private var repairs: [Repair] = []
    /// Locations lost because storage failed and memory was full.
    private(set) var refused = 0
    /// Refused locations that the database does not count yet.
    var uncounted: Int { refused - counted }
    private var counted = 0
    /// Locations that the store refused, because their session had come to their instants already: it could not say so when
    /// they were admitted.
    private(set) var repeated = 0
    /// The fault that storage has at present.
    private(set) var error: StorageError?
    /// When to try again, while something waits.
    private(set) var retryAt: BootInstant?
    /// Number of locations whose COMMIT has returned since the start.
    private(set) var stored = 0
    /// The newest location that is stored, for clients; nil when there is none, or it is being deleted.
    private(set) var latest: Location?
    /// The newest location, if it was stored since the start.
    private(set) var newest: NewestLocation?

    init(store: Store) {
        self.store = store
    }

    var waiting: Int { queue.count }

    func isRetryDue(_ now: BootInstant) -> Bool {
        retryAt.map { $0 <= now } ?? false
    }

    /// - Parameter events: what the fix has decided; written in the same transaction.
    func add(_ location: NewLocation, with events: NewEvents? = nil) {
        if queue.count < Self.limit {
            queue.append(.location(location, events))
        } else {
            refused += 1
            if let events { add(events) }
        }
    }

    /// Adds metres that were not known before to the session of all waiting rows.
    func add(odometer: Double) {
        for index in queue.indices {
            guard case .location(var location, let events) = queue[index] else { continue }
            location.odometer += odometer
            queue[index] = .location(location, events)
        }
    }

    /// Forgets waiting rows and events at or before `cutoff`, or all: the user has them deleted. One whose time is not known
    /// goes with all only. The states of the geofences are kept, which hold no position.
    ///
    /// - Returns: the number of locations and events.
    func discard(upTo cutoff: Timestamp?) -> Int {
        func isDoomed(_ time: Timestamp) -> Bool { cutoff.map { time <= $0 } ?? true }
        var count = 0
        func isDoomed(_ time: EventTime) -> Bool {
            switch time {
            case .known(let time, _): isDoomed(time)
            case .pending: cutoff == nil
            }
        }
        func cut(_ events: NewEvents?) -> NewEvents? {
            guard var events else { return nil }
            let before = events.all.count
            events.events.removeAll { isDoomed($0.crossing.time) }
            events.vehicleEvents.removeAll { isDoomed($0.time) }
            events.trips?.forgetPlaces(upTo: cutoff)
            count += before - events.all.count
            return events
        }
        queue = queue.compactMap { entry in
            switch entry {
            case .location(let new, let events) where isDoomed(new.location.fix.time):
                count += 1
                return cut(events).map { .events($0) }
            case .location(var new, let events):
                new.vehicle?.trip?.open.forgetPlaces(upTo: cutoff)
                return .location(new, cut(events))
            case .events(let events): return cut(events).map { .events($0) }
            }
        }
        return count
    }

    /// The newest location from before the start, unless a newer one is stored already.
    func resume(latest found: Location?) {
        if latest == nil { latest = found }
    }

    /// The newest location is being deleted.
    func forgetLatest() { (latest, newest) = (nil, nil) }

    /// What a fix that was not admitted has decided, or what has happened without one.
    func add(_ events: NewEvents) {
        if queue.count < Self.limitWithEvents {
            queue.append(.events(events))
        } else {
            refused += events.all.count
        }
    }

    /// Writes the waiting rows, oldest first, and then retries what else had failed, until something fails or the disk is
    /// slow: the rest is then due at once.
    ///
    /// - Parameters:
    ///   - stopwatch: of the turn; read after each write, which may have taken minutes.
    ///   - mustYield: asked then, too: the rest is to wait.
    func flush(
        now: BootInstant, _ stopwatch: Stopwatch, mustYield: () -> Bool = { false }
    ) -> Result {
        var result = Result()
        var written = 0
        defer { queue.removeFirst(written) }
        for entry in queue {
            if written > 0, stopwatch.elapsed > Self.patience || mustYield() {
                retryAt = now
                return result
            }
            do {
                switch entry {
                case .location(let new, let events):
                    if let pending = try store.insert(new, with: events) {
                        result.pending = pending
                        result.stored.append(new.location)
                        noteStored(new)
                    } else {
                        repeated += 1
                    }
                    if let events { result.add(events) }
                case .events(let events):
                    _ = try store.insert(events)
                    result.add(events)
                }
                written += 1
            } catch {
                note(error, now: now)
                return result
            }
        }
        let repaired = repairs.count
        do {
            while let repair = repairs.first {
                try repair()
                repairs.removeFirst()
            }
            if uncounted > 0 {
                try store.count(refused: uncounted)
                counted = refused
            }
        } catch {
            note(error, now: now)
            return result
        }
        retryAt = nil
        if error != nil, written + repaired > 0 { recovered() }
        return result
    }

    private func noteStored(_ new: NewLocation) {
        stored += 1
        latest = new.location
        newest = NewestLocation(
            number: stored, location: new.location, session: new.session, extras: new.extras)
    }

    /// Reports a fault when it begins, not while it lasts.
    ///
    /// - Parameter repair: the operation, when it is to be tried again.
    func note(_ fault: StorageError, now: BootInstant, repair: Repair? = nil) {
        if let repair, repairs.count < Self.limit { repairs.append(repair) }
        if !queue.isEmpty || !repairs.isEmpty { retryAt = now.advanced(bySeconds: Self.retryDelay) }
        if error == nil {
            Log.error(
                .storageFailed,
                "cannot store: \(fault.report). Up to \(Self.limit) fixes wait in memory until storage works again"
            )
        }
        error = fault
    }

    /// At the end of the daemon: what still waits is lost with it.
    func reportLoss() {
        let fixes = queue.count { if case .location = $0 { true } else { false } }
        guard fixes > 0 else { return }
        Log.error(
            .storageFailed,
            "the \(fixes) fixes that waited in memory are lost: storage has not worked until the end")
    }

    private func recovered() {
        error = nil
        let loss = refused == 0 ? "nothing was lost" : "\(refused) fixes were lost since the start"
        Log.notice(.storageRecovered, "storage works again; \(loss)")
    }
}
