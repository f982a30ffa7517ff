internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The batches of one destination, from the rows in the store to what becomes of them there.
///
/// Confined to the uploader's thread.
final class BatchQueue {
    private let hub: Hub
    private let installID: String
    private let model: String?
    private var format: BeekonFormat
    private var ids: UUIDv7Generator
    private var random = SystemRandomNumberGenerator()
    /// The store knows where batches go now.
    private var isEndpointRegistered = false
    /// The batch under way, frozen.
    private(set) var current: FrozenBatch?

    /// What becomes of a rejected batch.
    enum Fate: Equatable {
        case deadLettered(Int)
        /// The search for the rows to blame goes on in its two halves.
        case split
        /// It stays where it is: the endpoint is to blame. So many dead letters are back in the queue.
        case suspected(returned: Int)
        /// It stays where it is, because there is no room among the dead letters.
        case full
    }

    /// - Returns: nil when zlib cannot work here.
    init?(hub: Hub, installID: String, _ sync: Settings.Sync?) {
        let model = Machine.model()
        guard let format = BeekonFormat(device: Device(installID: installID, sync, model: model)) else {
            return nil
        }
        self.hub = hub
        self.installID = installID
        self.model = model
        self.format = format
        ids = UUIDv7Generator(using: &random)
    }

    /// Other settings: new batches go by them, and the endpoint is another one, perhaps.
    func configure(_ sync: Settings.Sync?) {
        format.reset(device: Device(installID: installID, sync, model: model))
        isEndpointRegistered = false
    }

    /// Tells the store where batches go now. What fails is tried again with the next drain.
    func registerEndpoint(_ sync: Settings.Sync?) throws(StorageError) {
        guard !isEndpointRegistered, let sync else { return }
        try hub.store.adopt(endpoint: sync.fingerprint)
        isEndpointRegistered = true
    }

    // MARK: From rows to a request

    /// The frozen batch, or the next rows, frozen: committed with id and bytes before the first byte is sent.
    ///
    /// - Returns: nil when nothing is pending.
    func freezeNext(limit: Int) throws(StorageError) -> FrozenBatch? {
        while true {
            reportProgress()
            if let frozen = try hub.store.nextFrozen() {
                current = frozen
                return frozen
            }
            guard let draft = try hub.store.draftBatch(limit: limit) else { return nil }
            let (id, body) = try encode(draft)
            reportProgress()
            // nil: the user deleted some of these rows meanwhile.
            if let frozen = try hub.store.freeze(draft, id: id, body: body) {
                current = frozen
                return frozen
            }
        }
    }

    /// Every operation of the store may have to wait for a slow disk twice: for the reader's write and for its own.
    private func reportProgress() {
        hub.board.uploaderWork.begin(.current())
    }

    private func encode(_ draft: BatchDraft) throws(StorageError) -> (id: UUIDv7, body: [UInt8]) {
        let sentAt = hub.clock.time(now: .current())
        let id = ids.next(at: sentAt)
        guard
            let request = format.request(
                batch: id, session: draft.session, sentAt: sentAt, extras: draft.extras,
                locations: draft.locations, events: draft.events)
        else {
            throw StorageError(operation: "compress", kind: .other, message: "zlib failed")
        }
        return (id, request.body)
    }

    /// The attempt is on the disk before the first byte is sent.
    ///
    /// - Returns: false when the batch is gone.
    func beginAttempt(_ batch: FrozenBatch) throws(StorageError) -> Bool {
        try hub.store.beginAttempt(batch)
    }

    // MARK: What becomes of it

    /// The backend has the batch.
    ///
    /// - Parameter limit: rows of the next batch, which is frozen in the same transaction; nil for none.
    func acknowledge(_ batch: FrozenBatch, limit: Int?) throws(StorageError) {
        // Fewer rows leave when an attempt that was reported as failed had reached the disk after all.
        if let limit, let draft = try hub.store.draftBatch(limit: limit, after: batch) {
            let (id, body) = try encode(draft)
            reportProgress()
            _ = try hub.store.acknowledge(batch, freezing: draft, id: id, body: body)
        } else {
            _ = try hub.store.acknowledge(batch)
        }
    }

    /// Whether the size of the batch is to blame.
    ///
    /// - Returns: how many times in a row it has been.
    func count(_ size: Judgement.Size, _ batch: FrozenBatch) throws(StorageError) -> Int {
        switch size {
        case .irrelevant:
            try hub.store.forgetOversized(batch)
            return 0
        case .tooSlow: return try hub.store.countOversized(batch, isPermanent: false)
        case .tooLarge: return try hub.store.countOversized(batch, isPermanent: true)
        }
    }

    /// Only another endpoint can take it.
    func markPermanent(_ batch: FrozenBatch) throws(StorageError) {
        try hub.store.markPermanent(batch)
    }

    /// The backend has rejected the batch: puts its halves in its place.
    func isolate(_ batch: FrozenBatch) throws(StorageError) -> Fate {
        let before = hub.store.counts()
        guard try !hub.store.countRejection(of: batch) else { return suspected(since: before) }
        var pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])] = []
        for half in try hub.store.halves(of: batch) {
            let (id, body) = try encode(half)
            pieces.append((half, id, body))
        }
        try hub.store.split(batch, into: pieces)
        return .split
    }

    /// The backend has rejected the batch: its rows become dead letters.
    ///
    /// - Returns: besides its fate, how many older dead letters have expired.
    func reject(_ batch: FrozenBatch, status: Int) throws(StorageError) -> (fate: Fate, expired: Int) {
        let before = hub.store.counts()
        let now = BootInstant.current()
        let time = hub.clock.time(now: now)
        let trusted =
            hub.clock.system(now: now).isKnownGood ? hub.ages.withLock { $0?.proved(time, now: now) } : nil
        let rejection = try hub.store.reject(batch, status: status, at: time, trusted: trusted)
        let expired = hub.store.counts().losses.expired - before.losses.expired
        // The reader accounts for losses.
        if expired > 0 { hub.reader.wakeup.signal() }
        switch rejection {
        case .deadLettered(let count): return (.deadLettered(count), expired)
        case .suspected: return (suspected(since: before), expired)
        case .full: return (.full, expired)
        }
    }

    private func suspected(since before: StoreCounts) -> Fate {
        // Only this thread creates dead letters; if the user has purged some meanwhile, there are fewer, too.
        .suspected(returned: before.rejected - hub.store.counts().rejected)
    }

    /// An administrator wants smaller batches instead of the one that keeps failing.
    func dissolve() -> Result<Rebatched, Failure> {
        let result: Rebatch
        do {
            result = try hub.store.rebatch()
        } catch {
            return .failure(.init(reason: error.message))
        }
        switch result {
        case .nothingFrozen:
            return .failure(.init(kind: .noRebatch, reason: "no batch waits to be sent again"))
        case .tooFew(let failures):
            return .failure(
                .init(
                    kind: .noRebatch,
                    reason: "the next batch has failed because of its size or its time \(failures) "
                        + "times in a row; only after \(UploadReport.manyFailures) may it be dissolved, because its "
                        + "rows may then arrive twice"))
        case .dissolved(let id, let locations, let events):
            return .success(Rebatched(batch: id, locations: locations, events: events))
        }
    }

    /// No batch is under way any more: its body need not be kept until the next drain.
    func endBatch() {
        current = nil
    }

    /// Gives back what a long drain took: the next may be months away.
    func releaseMemory() {
        format.reset()
        hub.store.releaseMemory()
        releaseUnusedMemory()
    }
}

extension Request {
    /// The request of a frozen batch. All batches are in one format so far.
    init(_ batch: FrozenBatch) {
        self = Format.beekon.request(body: batch.body)
    }
}

extension Device {
    init(installID: String, _ sync: Settings.Sync?, model: String?) {
        self.init(
            installID: installID, platform: sync?.platform ?? "linux", version: Release.version, model: model)
    }
}

extension Settings.Sync {
    /// Without the settings that say nothing about a request under way.
    var request: Settings.Sync {
        var sync = self
        sync.intervalSeconds = 0
        sync.syncThreshold = 0
        sync.onReject = .drop
        return sync
    }

    /// Differs whenever the url or the batch size does: FNV-1a, which is the same in every run.
    var fingerprint: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(batchSize) \(url)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return Int64(bitPattern: hash)
    }
}

/// A batch that an administrator has dissolved.
struct Rebatched: Sendable {
    var batch: UUIDv7
    /// Locations that go into new batches.
    var locations: Int
    /// Geofence events that go into new batches.
    var events: Int

    var rows: Int { locations + events }
}
