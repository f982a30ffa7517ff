internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

extension Uploader {
    /// Sends batch after batch until nothing is pending or one fails.
    func sendAll() -> DrainOutcome {
        do {
            if let batch = unacknowledged { try acknowledge(batch) }
            try adoptEndpoint()
            while !isStopping, let sync = settings.sync, let batch = try nextBatch(limit: sync.batchSize) {
                let outcome: HTTPOutcome
                switch try attempt(batch, sync) {
                case .ended(let end): return end
                case .answered(let answer): outcome = answer
                }
                if let end = try conclude(batch, outcome, sync) { return end }
            }
            snapshot.storageError = nil
            return .drained
        } catch {
            snapshot.storageError = error.report
            snapshot.lastError = "storage: " + error.message
            return .transient(isNetwork: false, retryAfter: nil)
        }
    }

    /// The frozen batch, or the next rows, frozen: committed with id and bytes before the first byte goes out.
    private func nextBatch(limit: Int) throws(StorageError) -> FrozenBatch? {
        while true {
            progress()
            if let frozen = try hub.store.nextFrozen() { return frozen }
            guard let draft = try hub.store.draftBatch(limit: limit) else { return nil }
            let (id, body) = try encode(draft)
            progress()
            // nil: the user deleted some of these rows meanwhile.
            if let frozen = try hub.store.freeze(draft, id: id, body: body) { return frozen }
        }
    }

    /// Each operation of the store may have to wait for a slow disk, twice: for the reader's write and for its own.
    private func progress() {
        hub.board.uploaderWork.begin(.current())
    }

    private func encode(_ draft: BatchDraft) throws(StorageError) -> (id: UUIDv7, body: [UInt8]) {
        let sentAt = hub.clock.time(now: .current())
        let id = ids.next(at: sentAt)
        let bytes = payload.encode(
            batch: id, session: draft.session, sentAt: sentAt, extras: draft.extras,
            locations: draft.locations, events: draft.events)
        guard let body = gzip.compress(bytes) else {
            throw StorageError(operation: "compress", kind: .other, message: "zlib failed")
        }
        return (id, body)
    }

    func send(
        _ batch: FrozenBatch, _ sync: Settings.Sync, authorization: String?
    ) throws(StorageError) -> HTTPOutcome {
        isAborted = false
        // Named before the store is asked: whoever dissolves the batch after that answer aborts the request.
        snapshot.inFlightBatch = batch.id
        guard try hub.store.beginAttempt(batch) else {
            snapshot.inFlightBatch = nil
            return .cancelled
        }
        snapshot.storageError = nil
        snapshot.isUploading = true
        snapshot.lastAttempt = hub.clock.time(now: .current())
        publish()
        let options = HTTPOptions(sync, authorization: authorization)
        let id = sync.requireAck ? batch.id.description : nil
        let outcome = client.post(
            batch.body, options, acknowledging: id, wakeup: hub.uploader.wakeup
        ) {
            let now = BootInstant.current()
            hub.board.uploaderWork.begin(now)
            runCommands(now: now)
            return isStopping || isAborted
        }
        snapshot.inFlightBatch = nil
        return outcome
    }

    /// Does what the answer means.
    ///
    /// - Returns: how the drain ends, or nil when it goes on.
    private func conclude(
        _ batch: FrozenBatch, _ outcome: HTTPOutcome, _ sync: Settings.Sync
    ) throws(StorageError) -> DrainOutcome? {
        switch outcome {
        case .cancelled: return isStopping ? .transient(isNetwork: false, retryAfter: nil) : nil
        case .failure(let failure):
            snapshot.lastHTTPStatus = nil
            snapshot.isClockSuspected = failure.kind == .clock
            snapshot.lastError =
                failure.kind == .clock
                ? "clock: the server's certificate is not valid yet, so this machine's time is wrong"
                : failure.message
            if failure.isForTime { try countOversized(batch, isPermanent: false) }
            return .transient(isNetwork: true, retryAfter: nil)
        case .response(let status, let retryAfter, let doubt):
            snapshot.lastHTTPStatus = status
            snapshot.bytesSent += batch.body.count
            snapshot.isClockSuspected = false
            let time = hub.clock.time(now: .current())
            let wait = retryAfter.flatMap { RetryAfter.seconds($0, at: time) }
            let verdict = Verdict(status: status, retryAfter: wait, doubt: doubt)
            if verdict != .accepted {
                snapshot.lastError = "the server answers \(status)" + (doubt?.words ?? "")
                try judgeSize(batch, status)
            }
            return try conclude(batch, verdict, status, doubt, sync)
        }
    }

    private func conclude(
        _ batch: FrozenBatch, _ verdict: Verdict, _ status: Int, _ doubt: Doubt?, _ sync: Settings.Sync
    ) throws(StorageError) -> DrainOutcome? {
        switch verdict {
        case .accepted:
            unacknowledged = batch
            try acknowledge(batch, limit: isStopping || isAborted ? nil : settings.sync?.batchSize)
            return nil
        case .rejected: return try reject(batch, status, sync)
        case .unauthorised: return .failed(.auth)
        case .transient(let isNetwork, let retryAfter):
            return .transient(isNetwork: isNetwork, retryAfter: retryAfter)
        case .permanent:
            // Without its acknowledgement the rows may be stored all the same: in another batch they would arrive twice.
            if status != Self.tooLarge, doubt != .noAck { try hub.store.markPermanent(batch) }
            return .failed(doubt.map { DrainOutcome.Failure($0) } ?? .permanent)
        }
    }

    /// - Parameter limit: rows of the next batch, which is frozen in the same transaction; nil for none.
    private func acknowledge(_ batch: FrozenBatch, limit: Int? = nil) throws(StorageError) {
        // Fewer rows leave when an attempt that was reported as failed had reached the disk after all.
        if let limit, let draft = try hub.store.draftBatch(limit: limit, after: batch) {
            let (id, body) = try encode(draft)
            progress()
            _ = try hub.store.acknowledge(batch, freezing: draft, id: id, body: body)
        } else {
            _ = try hub.store.acknowledge(batch)
        }
        let count = batch.rows
        unacknowledged = nil
        snapshot.oversizedFailures = 0
        snapshot.uploaded += count
        snapshot.lastSuccess = hub.clock.time(now: .current())
        Log.debug(
            .uploaded, "uploaded \(count) locations and events, \(batch.body.count) bytes",
            [(.batch, batch.id.description), (.count, "\(count)")])
    }

    private func reject(
        _ batch: FrozenBatch, _ status: Int, _ sync: Settings.Sync
    ) throws(StorageError) -> DrainOutcome? {
        let fields: [(Log.Field, String)] = [(.batch, batch.id.description), (.httpStatus, "\(status)")]
        let before = hub.store.counts()
        if sync.onReject == .isolate, batch.rows > 1 {
            guard try !hub.store.countRejection(of: batch) else { return suspected(before) }
            var pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])] = []
            for half in try hub.store.halves(of: batch) {
                let (id, body) = try encode(half)
                pieces.append((half, id, body))
            }
            try hub.store.split(batch, into: pieces)
            return nil
        }
        let now = BootInstant.current()
        let time = hub.clock.time(now: now)
        let trusted =
            hub.clock.system(now: now).isKnownGood ? hub.ages.withLock { $0?.proved(time, now: now) } : nil
        let rejection = try hub.store.reject(batch, status: status, at: time, trusted: trusted)
        reportExpiry(since: before)
        switch rejection {
        case .deadLettered(let count):
            Log.warning(
                .batchRejected,
                "the server has rejected \(count) locations (\(status)); they are kept as dead letters for 7 days",
                fields + [(.count, "\(count)")])
            return nil
        case .suspected: return suspected(before)
        case .full:
            snapshot.lastError = "the server answers \(status), and the table of dead letters is full"
            return .failed(.deadLettersFull)
        }
    }

    private func suspected(_ before: StoreCounts) -> DrainOutcome {
        // Only this thread creates dead letters; if the user has purged some meanwhile, there are fewer, too.
        let back = before.rejected - hub.store.counts().rejected
        if back > 0 {
            Log.notice(
                .batchRejected,
                "the endpoint is suspected, not the data: dead letters of the latest rejections are back in the queue",
                [(.count, "\(back)")])
        }
        return .failed(.rejected)
    }

    private func reportExpiry(since before: StoreCounts) {
        let count = hub.store.counts().losses.expired - before.losses.expired
        guard count > 0 else { return }
        Log.warning(
            .deadLettersExpired,
            "\(count) dead letters were rejected more than 7 days ago and have been deleted; nobody has received them",
            [(.count, "\(count)")])
        // The reader accounts for losses.
        hub.reader.wakeup.signal()
    }
}

extension HTTPOptions {
    /// - Parameter authorization: wins over a header of that name in the configuration.
    init(_ sync: Settings.Sync, authorization: String?) {
        let fixed = sync.headers.filter { authorization == nil || $0.name.lowercased() != "authorization" }
        let headers =
            ["Content-Type: application/json", "Content-Encoding: gzip"]
            // libcurl takes "Name:" for a header to be left out, and "Name;" for an empty one.
            + fixed.map { $0.value.text.isEmpty ? $0.name + ";" : "\($0.name): \($0.value.text)" }
            + (authorization.map { ["Authorization: " + $0] } ?? [])
        self.init(
            url: sync.url, headers: headers, userAgent: "beekond/" + Release.version,
            timeout: sync.timeoutSeconds,
            caFile: sync.caFile, clientCertificate: sync.clientCertificate, clientKey: sync.clientKey,
            proxy: sync.proxy)
    }
}
