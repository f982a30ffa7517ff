internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The batches of one destination, from the rows in the store to what becomes of them there.
///
/// Confined to the uploader's thread.
final class BatchQueue {
    private let port: UploaderPort
    private let hub: Hub
    private let maker: ShipmentMaker
    /// The store knows where batches go now.
    private var isEndpointRegistered = false
    let record: RefusalRecord

    /// What becomes of a rejected batch.
    enum Fate: Equatable {
        case deadLettered(Int)
        /// The search for the refused rows goes on in its two halves.
        case split
        /// The batch stays where it is: the endpoint is suspected. So many dead letters are back in the
        /// queue.
        case suspected(returned: Int)
        /// The batch stays where it is, because there is no room among the dead letters.
        case full
    }

    init(port: UploaderPort, hub: Hub, maker: ShipmentMaker) {
        self.port = port
        self.hub = hub
        self.maker = maker
        record = RefusalRecord(store: hub.store, of: port.name)
    }

    /// The endpoint may be another one.
    func configured() {
        isEndpointRegistered = false
    }

    /// Tells the store where batches go now. What fails is tried again with the next drain.
    func registerEndpoint(_ sync: Settings.Sync?, tellsOdometer: Bool) throws(StorageError) {
        guard !isEndpointRegistered, let sync else { return }
        let dissolved = try hub.store.adopt(
            endpoint: sync.fingerprint(tellsOdometer: tellsOdometer), formerly: sync.fingerprint,
            format: sync.format.fingerprint, of: port.name)
        if dissolved > 0 {
            Log.notice(
                .batchDissolved,
                "\(dissolved) frozen batches for \(port.name) have been dissolved because their format has changed: "
                    + "their rows go out in the new one, and arrive twice if an answer was lost",
                [(.count, "\(dissolved)")])
        }
        isEndpointRegistered = true
        record.reload()
    }

    // MARK: From rows to a request

    /// The frozen batch, or the next rows, frozen: committed with id and bytes before the first byte is sent.
    ///
    /// - Returns: nil when nothing is pending.
    func freezeNext(_ sync: Settings.Sync, now: BootInstant) throws(StorageError) -> Shipment? {
        while true {
            reportProgress()
            if let frozen = try hub.store.nextFrozen(for: port.name) {
                if let shipment = Shipment(frozen) { return shipment }
                try hub.store.dissolve(frozen)
                continue
            }
            guard let found = try draft(sync) else { return nil }
            if let unsendable = unsendable(in: found, sync) {
                try drop(unsendable.draft, because: unsendable.reason)
                continue
            }
            guard let draft = try placed(found) else {
                try drop(
                    found,
                    because: "an earlier version stored them without a position, and their fence is gone")
                continue
            }
            let (id, request) = try maker.request(for: draft, now: now)
            reportProgress()
            // nil: the user deleted some of these rows meanwhile.
            if let frozen = try hub.store.freeze(draft, id: id, request), let shipment = Shipment(frozen) {
                return shipment
            }
        }
    }

    /// The next rows, as many as a request may hold.
    ///
    /// - Parameter sent: a batch that is taken for acknowledged.
    private func draft(
        _ sync: Settings.Sync, after sent: FrozenBatch? = nil
    ) throws(StorageError) -> BatchDraft? {
        func draft(limit: Int) throws(StorageError) -> BatchDraft? {
            if let sent {
                return try hub.store.draftBatch(
                    limit: limit, asOne: sync.format.isOneRow, order: sync.order, after: sent)
            }
            return try hub.store.draftBatch(
                for: port.name, limit: limit, asOne: sync.format.isOneRow, order: sync.order)
        }
        let limit = maker.requests.rowLimit(sync.batchSize, extras: nil)
        guard let first = try draft(limit: limit) else { return nil }
        // Fewer of these rows have the same extras.
        let fewer = maker.requests.rowLimit(limit, extras: first.extras)
        return max(first.locations.count, first.eventCount) > fewer ? try draft(limit: fewer) : first
    }

    /// Events of the vehicle that the format cannot say: they were owed while it was another one, or nobody knew which. And
    /// those of geofences that were owed before they were not to be sent; in formats with no other events the store has seen to
    /// that, and owes what must be told all the same.
    private func unsendable(
        in draft: BatchDraft, _ sync: Settings.Sync
    ) -> (draft: BatchDraft, reason: String)? {
        if !sync.format.carriesVehicleEvents, let events = draft.ofVehicle {
            return (events, "its format carries none of the vehicle")
        }
        if !sync.geofenceEvents, sync.format.carriesVehicleEvents, let events = draft.ofGeofences {
            return (events, "its geofence_events is false")
        }
        return nil
    }

    private func placed(_ draft: BatchDraft) throws(StorageError) -> BatchDraft? {
        try maker.requests.placed(draft) { () throws(StorageError) in
            guard let fences = hub.board.fences else {
                throw StorageError(
                    operation: "place event", kind: .other, message: "the geofences have not been read yet")
            }
            return fences
        }
    }

    private func drop(_ draft: BatchDraft, because reason: String) throws(StorageError) {
        let count = try hub.store.drop(draft)
        Log.warning(
            .rowsDropped, "\(count) events are not sent to \(port.name): \(reason)", [(.count, "\(count)")])
    }

    /// Every operation of the store may have to wait for a slow disk twice: for the reader's write and for its own.
    private func reportProgress() {
        port.work.begin()
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
    /// - Parameters:
    ///   - sync: by which the next batch is frozen in the same transaction; nil for none.
    ///   - commands: what the server has asked for, written down in it; nil for nothing.
    /// - Returns: what has become of those.
    func acknowledge(
        _ batch: FrozenBatch, freezingNextFor sync: Settings.Sync?, journaling commands: CommandList?,
        now: BootInstant
    ) throws(StorageError) -> Journaling {
        // Fewer rows leave when an attempt that was reported as failed had reached the disk after all.
        var next: (draft: BatchDraft, id: UUIDv7, request: StoredRequest)?
        if let sync, let draft = try draft(behind: batch, sync) {
            let (id, request) = try maker.request(for: draft, now: now)
            reportProgress()
            next = (draft, id, request)
        }
        return try hub.store.acknowledge(batch, freezing: next, journaling: commands)
    }

    /// nil also for one that cannot be sent: that is for `freezeNext` to find out.
    private func draft(behind batch: FrozenBatch, _ sync: Settings.Sync) throws(StorageError) -> BatchDraft? {
        guard let draft = try draft(sync, after: batch), unsendable(in: draft, sync) == nil else {
            return nil
        }
        return try placed(draft)
    }

    // MARK: The row that is refused

    /// The batch behind one that was refused, frozen.
    ///
    /// - Returns: nil when there is none.
    func freezeProbe(
        behind batch: FrozenBatch, _ sync: Settings.Sync, now: BootInstant
    ) throws(StorageError) -> Shipment? {
        var probe = try hub.store.frozenBehind(batch)
        if probe == nil, let draft = try draft(behind: batch, sync) {
            let (id, request) = try maker.request(for: draft, now: now)
            reportProgress()
            probe = try hub.store.freeze(draft, id: id, request)
        }
        guard let probe, probe.id != batch.id else { return nil }
        return Shipment(probe, probing: batch)
    }

    /// The probe was accepted: the row of the batch before it becomes a dead letter.
    ///
    /// - Returns: nil when that has been sent, deleted or dissolved meanwhile.
    func deadLetter(
        probed batch: FrozenBatch, now: BootInstant
    ) throws(StorageError) -> (fate: Fate, expired: Int)? {
        guard try record.isAtFault(batch) else { return nil }
        return try reject(batch, status: record.status, reason: record.reason, isProbed: true, now: now)
    }

    /// What an answer says of the size of the batch.
    ///
    /// - Returns: how many times in a row it was why the batch failed.
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

    /// The backend has rejected the batch: puts its halves in its place; or, where requests hold one row by now, its rows
    /// back into the queue, so that each is judged by itself.
    func isolate(_ batch: FrozenBatch, for sync: Settings.Sync?, now: BootInstant)
        throws(StorageError) -> Fate
    {
        let before = hub.store.counts()
        guard try !hub.store.countRejection(of: batch) else { return suspected(since: before) }
        guard sync?.format.isOneRow != true else {
            try hub.store.dissolve(batch)
            return .split
        }
        var pieces: [(draft: BatchDraft, id: UUIDv7, request: StoredRequest)] = []
        for half in try hub.store.halves(of: batch) {
            let (id, request) = try maker.request(for: half, now: now)
            pieces.append((half, id, request))
        }
        try hub.store.split(batch, into: pieces)
        return .split
    }

    /// The backend has rejected the batch: its rows become dead letters.
    ///
    /// - Parameter reason: what it said.
    /// - Returns: besides its fate, how many older dead letters have expired.
    func reject(
        _ batch: FrozenBatch, status: Int, reason: String?, isProbed: Bool = false, now: BootInstant
    ) throws(StorageError) -> (fate: Fate, expired: Int) {
        let before = hub.store.counts()
        let time = hub.clock.time(now: now)
        let trusted =
            hub.clock.system(now: now).isKnownGood ? hub.ages.withLock { $0?.proved(time, now: now) } : nil
        let rejection = try hub.store.reject(
            batch, status: status, reason: reason, at: time, trusted: trusted, isProbed: isProbed)
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
        .suspected(returned: rejected(before) - rejected(hub.store.counts()))
    }

    private func rejected(_ counts: StoreCounts) -> Int {
        counts[port.name]?.rejected ?? 0
    }

    /// An administrator wants smaller batches instead of the one that keeps failing.
    func dissolve() -> Result<Rebatched, CommandFailure> {
        let result: Rebatch
        do {
            result = try hub.store.rebatch(for: port.name)
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

    /// A broker has refused the batch, and has nothing of it. If its topic is that of an earlier user, which may never be
    /// allowed again, its rows go into a new one.
    ///
    /// - Returns: whether they do.
    func renewTopic(of batch: FrozenBatch, in request: Request) throws(StorageError) -> Bool {
        guard let topic = request.topic, let own = maker.requests.topic, topic != own, topic != own + "/event"
        else { return false }
        try hub.store.dissolve(batch)
        return true
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
