internal import Storage
internal import Tracking

/// Puts admitted fixes into the store in order. While storage fails they wait in memory, as many as there is room for.
struct Recorder {
    struct Result {
        /// Those whose COMMIT has returned.
        var stored: [Location] = []
        /// Pending rows after the last of them.
        var pending: Int?
    }

    /// An operation that failed, to be tried again.
    typealias Repair = () throws(StorageError) -> Void

    /// Fixes that wait at most; more are refused and counted.
    static let limit = 256
    /// Seconds between attempts when no fix comes.
    private static let retryDelay = 1.0
    /// Seconds; after a write that took longer, the others wait until everything else has had its turn.
    private static let patience = 0.5

    private let store: Store
    private var queue: [NewLocation] = []
    /// What else has failed, and is tried again after the fixes.
    private var repairs: [Repair] = []
    /// Locations lost because storage failed and memory was full.
    private(set) var refused = 0
    /// The fault that storage has at present.
    private(set) var error: StorageError?
    /// When to try again, while something waits.
    private(set) var retryAt: BootInstant?

    init(store: Store) {
        self.store = store
    }

    var waiting: Int { queue.count }

    func isRetryDue(_ now: BootInstant) -> Bool {
        retryAt.map { $0 <= now } ?? false
    }

    mutating func add(_ location: NewLocation) {
        if queue.count < Self.limit {
            queue.append(location)
        } else {
            refused += 1
        }
    }

    /// Writes what waits, oldest first, and then does what else had failed, until something fails, or the disk is slow: then the rest is due at once.
    ///
    /// - Parameter clock: asked after each write, which may have taken minutes.
    mutating func flush(now: BootInstant, clock: () -> BootInstant) -> Result {
        var result = Result()
        var written = 0
        defer { queue.removeFirst(written) }
        for location in queue {
            if written > 0, clock().seconds(since: now) > Self.patience {
                retryAt = now
                return result
            }
            do {
                result.pending = try store.insert(location)
                result.stored.append(location.location)
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
        } catch {
            note(error, now: now)
            return result
        }
        retryAt = nil
        if error != nil, written + repaired > 0 { recovered() }
        return result
    }

    /// Reports a fault when it begins, not while it lasts.
    ///
    /// - Parameter repair: the operation, when it is to be tried again.
    mutating func note(_ fault: StorageError, now: BootInstant, repair: Repair? = nil) {
        if let repair, repairs.count < Self.limit { repairs.append(repair) }
        if !queue.isEmpty || !repairs.isEmpty { retryAt = now.advanced(bySeconds: Self.retryDelay) }
        if error == nil {
            Log.error(
                .storageFailed,
                "cannot store: \(fault.message). Up to \(Self.limit) fixes wait in memory until storage works again; "
                    + "check free space and the health of the disk")
        }
        error = fault
    }

    /// The last word: what still waits is lost with the process.
    func reportLoss() {
        guard waiting > 0 else { return }
        Log.error(
            .storageFailed,
            "the \(waiting) fixes that waited in memory are lost: storage has not worked until the end")
    }

    private mutating func recovered() {
        error = nil
        let loss = refused == 0 ? "nothing was lost" : "\(refused) fixes were lost since the start"
        Log.notice(.storageRecovered, "storage works again; \(loss)")
    }
}
