internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Synchronization
internal import Upload

/// Reports how the uploads of one destination go: what is logged and when, and what the board shows.
///
/// Confined to the uploader's thread.
final class UploadReport {
    let port: UploaderPort
    let board: Board
    let post: (MainMessage) -> Void
    let warn: (Log.Event, String, [(Log.Field, String)]) -> Void
    var snapshot = UploaderSnapshot()
    var watch = RequestWatch()
    private var lastWarning: (key: String, now: BootInstant)?
    /// The latest answer, where a broker gave it.
    var lastBroker: MQTTAnswer?
    /// The log has said that the broker's acknowledgements are worth little.
    var hasDoubted = false
    private var lastDeferralWarning: BootInstant?
    /// How many answers have been counted that came between two requests.
    var unrequested = 0
    /// When the log last said that an answer did not belong to its request.
    var lastUnmatched: BootInstant?
    /// How rows were refused for good since the latest drain began, and how many.
    var refused: (rows: Int, latest: Refusal?) = (0, nil)
    /// The log has said that the server accepts batches without saying so.
    var hasWarnedOfSilence = false
    /// When the log has last said that the server saves fewer locations than it was sent.
    var lastShortfall: BootInstant?

    /// Seconds after which the same fault is logged again.
    static let logInterval = 3600.0
    /// Failures in a row after which the log says what can be done about the size of a batch.
    static let manyFailures = 3
    /// A line about dead credentials and one about an upload that fails for them share this: one is enough.
    static let authKey = DrainOutcome.Failure.auth.rawValue

    /// - Parameters:
    ///   - post: hands a hint to the main thread.
    ///   - warn: writes a line to the journal.
    init(
        port: UploaderPort, board: Board, post: @escaping (MainMessage) -> Void,
        warn: @escaping (Log.Event, String, [(Log.Field, String)]) -> Void = { Log.warning($0, $1, $2) }
    ) {
        self.port = port
        self.board = board
        self.post = post
        self.warn = warn
    }

    /// The table of the destination in the configuration.
    private var table: String { port.name.table }

    // MARK: The board

    /// - Parameter revision: of the settings that have been adopted.
    func publish(retries: Int, nextAttempt: BootInstant?, auth: AuthState, revision: Int = 0) {
        snapshot.revision = revision
        snapshot.retries = retries
        snapshot.nextAttempt = nextAttempt
        snapshot.auth = auth
        let before = port.snapshot
        guard snapshot != before else { return }
        port.publish(snapshot)
        if snapshot.isUploading != before.isUploading || snapshot.failure != before.failure
            || snapshot.isDeferred != before.isDeferred
        {
            post(.syncChanged(port.name))
        }
        if snapshot.auth != before.auth { post(.authChanged(port.name)) }
        if snapshot.revision != before.revision { post(.settingsAdopted(port.name)) }
    }

    func configured(_ sync: Settings.Sync?) {
        snapshot.isConfigured = sync != nil
    }

    func endpointUnwritten(_ error: StorageError, now: BootInstant) {
        snapshot.storageError = error.report
        logOnce("the change of the endpoint could not be written: \(error.message)", now: now)
    }

    /// - Parameters:
    ///   - isDeferred: what is due waits for a route that is not metered.
    ///   - pending: rows that wait.
    ///   - cap: rows that are kept.
    func deferred(_ isDeferred: Bool, pending: Int = 0, cap: Int = 0, now: BootInstant) {
        if isDeferred != snapshot.isDeferred, isDeferred {
            Log.info(.uploadDeferred, "the upload waits: the route is metered", [(.count, "\(pending)")])
        }
        snapshot.isDeferred = isDeferred
        // Four fifths.
        guard isDeferred, pending >= cap - cap / 5 else { return snapshot.deferralWarning = nil }
        let warning =
            "the upload waits for a route that is not metered, and \(pending) rows are pending of \(cap) that are kept "
            + "(store.max_rows): the oldest will be lost; beekonctl sync sends them now, \(table).metered_max_wait_seconds "
            + "bounds the wait"
        snapshot.deferralWarning = warning
        if let last = lastDeferralWarning, now.seconds(since: last) < Self.logInterval { return }
        lastDeferralWarning = now
        warn(.uploadDeferred, warning, [(.count, "\(pending)")])
    }

    // MARK: Besides rows

    /// - Parameter trouble: why Home Assistant has not been told of the vehicle, or still is; nil: all is well.
    func homeAssistant(_ trouble: String?) { snapshot.homeAssistant = trouble }

    /// How its heartbeats stand; nil: it has none.
    func heartbeats(_ interval: Double, next: BootInstant?, pausedUntil: BootInstant?) {
        guard interval > 0 || pausedUntil != nil else { return snapshot.heartbeat = nil }
        var heartbeat = snapshot.heartbeat ?? HeartbeatSnapshot()
        (heartbeat.interval, heartbeat.next, heartbeat.pausedUntil) = (interval, next, pausedUntil)
        if pausedUntil == nil { (heartbeat.refusal, heartbeat.reason) = (nil, nil) }
        snapshot.heartbeat = heartbeat
    }

    /// The server has an envelope without rows.
    func heartbeatAccepted(_ id: UUIDv7, bytes: Int, at time: Timestamp) {
        succeeded(at: time)
        snapshot.heartbeat?.last = time
        debug(.acknowledged, id, "no rows, \(bytes) bytes")
    }

    /// The server will not take any envelope without rows.
    func envelopeRefused(_ status: Int) {
        var heartbeat = snapshot.heartbeat ?? HeartbeatSnapshot()
        (heartbeat.refusal, heartbeat.reason) = (status, snapshot.lastReason)
        snapshot.heartbeat = heartbeat
        warn(
            .heartbeatRefused,
            "the server refuses a heartbeat to \(port.name) (\(answer(status))): none is sent for a day, nor results of commands; "
                + "locations go on as before. Let it accept batches without locations, or set \(table).heartbeat_seconds "
                + "to 0",
            [(.httpStatus, "\(status)"), (.destination, port.name.text)])
    }

    /// The log that the server has asked for has been answered.
    func logSent(_ status: Int, isAccepted: Bool, at path: String) {
        let fields: [(Log.Field, String)] = [
            (.httpStatus, "\(status)"), (.destination, port.name.text),
        ]
        if isAccepted {
            return Log.notice(.logSent, "the log was sent to the server of \(port.name)", fields)
        }
        warn(
            .logSent,
            "the server of \(port.name) has asked for the log, and answers \(status) to it at \(path.prefix { $0 != "?" })",
            fields)
    }

    // MARK: Rejected and dissolved batches

    /// - Parameter time: the best clock known.
    func rejected(_ fate: BatchQueue.Fate, _ batch: FrozenBatch, at time: Timestamp) {
        switch fate {
        case .deadLettered(let count): deadLettered(count, of: batch, at: time)
        case .split: break
        case .full:
            snapshot.lastError =
                "the server answers \(answer(snapshot.lastHTTPStatus ?? 0)), and the table of dead letters is full"
        case .suspected(let returned):
            guard returned > 0 else { return }
            Log.notice(
                .batchRejected,
                "the endpoint is suspected, not the data: dead letters of the latest rejections are back in the queue",
                [(.count, "\(returned)")])
        }
    }

    func expired(_ count: Int) {
        guard count > 0 else { return }
        warn(
            .deadLettersExpired,
            "\(count) dead letters were rejected more than 7 days ago and have been deleted; nobody has received them",
            [(.count, "\(count)")])
    }

    func dissolved(_ dissolved: Rebatched, _ sync: Settings.Sync?) {
        snapshot.oversizedFailures = 0
        Log.notice(
            .batchDissolved,
            "batch \(dissolved.batch) with \(dissolved.locations) locations and \(dissolved.events) events has been dissolved by an "
                + "administrator; they go into batches of \(sync?.batchSize ?? 0), and may arrive twice",
            [(.batch, dissolved.batch.description), (.count, "\(dissolved.rows)")])
    }

    // MARK: A drain

    /// - Parameters:
    ///   - delay: seconds until the next attempt, when it is a retry and the daemon does not stop.
    ///   - hadWork: anything was pending at its beginning.
    ///   - isOwed: the backend has a batch that could not be deleted.
    ///   - authAdvice: what to do about credentials that are of no use.
    func drainEnded(
        _ outcome: DrainOutcome, retryIn delay: Double?, hadWork: Bool, isOwed: Bool, authAdvice: String?,
        _ sync: Settings.Sync?, now: BootInstant
    ) {
        snapshot.inFlightBatch = nil
        snapshot.isUploading = false
        switch outcome {
        case .drained:
            snapshot.storageError = nil
            snapshot.failure = nil
            snapshot.isClockSuspected = false
            snapshot.lastError = nil
            guard hadWork, lastWarning != nil, !board.isStopping.load(ordering: .relaxed) else { return }
            lastWarning = nil
            // Without a url the drain has ended before anything was delivered.
            if sync != nil { Log.notice(.uploadRecovered, "uploading works again; nothing is pending") }
        case .transient:
            snapshot.failure = nil
            let isManual = sync?.triggers.mode == .manual && !board.isStopping.load(ordering: .relaxed)
            guard delay != nil || isManual, let error = snapshot.lastError else { return }
            let pause =
                delay.map { "trying again in \(Int($0.rounded(.up))) s" } ?? "beekonctl sync tries again"
            if snapshot.storageError == nil {
                let advice = sizeAdvice(sync)
                let hint = lastBroker.flatMap { OwnTracksMQTT.advice($0) }.map { "; " + $0 }
                logOnce(
                    "upload failed (\(error)); \(pause)" + (advice ?? hint ?? ""),
                    key: advice == nil ? transientKey(error) : "oversized", now: now)
            } else {
                let what = isOwed ? "uploaded, but not yet deleted" : "uploading waits for storage"
                logOnce(
                    "\(what) (\(error)); \(pause), and nothing is sent meanwhile", key: "storage", now: now)
            }
        case .failed(let failure):
            snapshot.failure = failure
            let advice = failure == .auth ? authAdvice ?? brokerAdvice : brokerAdvice
            let size = failure == .permanent ? sizeAdvice(sync) : nil
            logOnce(
                advice
                    ?? failure.advice(snapshot.lastHTTPStatus, answer(snapshot.lastHTTPStatus), sync, table)
                    + (size ?? ""),
                key: size == nil ? brokerAdvice ?? failure.rawValue : "oversized", now: now)
        }
    }

    /// What makes two passing failures the same: a server may say something else each time.
    private func transientKey(_ error: String) -> String {
        snapshot.lastReason == nil ? error : "status \(snapshot.lastHTTPStatus ?? 0)"
    }

    /// What a broker has said, and what to do; nil where it was no broker.
    private var brokerAdvice: String? {
        lastBroker.map { answer in
            OwnTracksMQTT.words(answer) + (OwnTracksMQTT.advice(answer).map { ": " + $0 } ?? "")
                + "; nothing is lost, the next attempt follows on the schedule"
        }
    }

    /// Appended to the message of a failure once a batch has often failed because of its size.
    private func sizeAdvice(_ sync: Settings.Sync?) -> String? {
        guard snapshot.oversizedFailures >= Self.manyFailures else { return nil }
        let what =
            "; the batch has failed \(snapshot.oversizedFailures) times in a row because of its size or its time: raise "
            + "\(table).timeout_seconds"
        guard let sync, !sync.sendsSingleRows else { return what }
        let name = port.name == .main ? "" : " " + port.name.text
        return what
            + ", or lower \(table).batch_size (\(sync.batchSize)) and then beekonctl sync --rebatch\(name), after which "
            + "its rows may arrive twice"
    }

    /// Logs a fault when it begins or changes, then once an hour.
    func logOnce(
        _ message: String, key: String? = nil, _ event: Log.Event = .uploadFailed, now: BootInstant
    ) {
        let key = key ?? message
        if let last = lastWarning, last.key == key, now.seconds(since: last.now) < Self.logInterval {
            return
        }
        lastWarning = (key, now)
        warn(event, message, snapshot.lastHTTPStatus.map { [(.httpStatus, "\($0)")] } ?? [])
    }

    /// Does something whose result says nothing about the upload.
    func keepingLastError<Result>(_ body: () -> Result) -> Result {
        let error = snapshot.lastError
        defer { snapshot.lastError = error }
        return body()
    }
}

/// What it tells of tokens and their exchange.
extension UploadReport {
    /// A token exchange has ended. Nothing of what was sent is told, and nothing of the answer but its status.
    func exchanged(_ outcome: HTTPOutcome, bytes: Int, since began: BootInstant, now: BootInstant) {
        let milliseconds = now.milliseconds(since: began)
        switch outcome {
        case .answer(let answer):
            tell(
                RequestRecord(
                    status: answer.status, milliseconds: milliseconds, bytes: bytes, outcome: "answered"))
        case .failure(let failure):
            tell(
                RequestRecord(
                    milliseconds: milliseconds, bytes: bytes, outcome: RequestCounts.Code(failure).text))
        case .cancelled:
            tell(RequestRecord(milliseconds: milliseconds, bytes: bytes, outcome: "cancelled"))
        }
    }

    func tokenRenewed(expiresAt: Int64?) {
        snapshot.lastError = nil
        let expiry = expiresAt.map {
            "; the new one expires at \(Timestamp(milliseconds: $0 &* 1000).iso8601)"
        }
        Log.info(.tokenRefreshed, "the token has been refreshed" + (expiry ?? ""))
    }

    /// - Parameter isIdle: no drain will report the reason.
    func exchangeFailed(_ outcome: HTTPOutcome, retryIn seconds: Double, isIdle: Bool, now: BootInstant) {
        let reason: String
        switch outcome {
        case .answer(let answer): reason = "the token endpoint answers \(answer.status)"
        case .failure(let failure):
            reason = failure.message
            snapshot.isClockSuspected = failure.kind == .clock
        case .cancelled: reason = "broken off"
        }
        snapshot.lastError = "the token could not be refreshed: " + reason
        guard isIdle else { return }
        let pause = Int(seconds.rounded(.up))
        logOnce(
            "the token could not be refreshed (\(reason)); trying again in \(pause) s", key: reason,
            .tokenFailed,
            now: now)
    }

    /// An upload waits for the next exchange.
    func tokenRests() {
        snapshot.lastError = snapshot.lastError ?? "the token cannot be refreshed"
    }

    /// An upload cannot take place for want of a token.
    func tokenIsMissing(_ words: String) {
        snapshot.lastError = words
    }

    func tokenDied(_ death: AuthRecord.Death, _ status: Int?, now: BootInstant) {
        logOnce(death.advice(status, of: port.name), key: Self.authKey, .tokenFailed, now: now)
    }

    func tokensUnsaved(_ error: String, now: BootInstant) {
        snapshot.lastError = "the tokens cannot be written: " + error
        logOnce("the tokens cannot be written (\(error)); trying again", key: "tokens", now: now)
    }

    func tokensDamaged(aside: String) {
        Log.error(
            .tokenFailed,
            "the stored tokens are damaged and were moved aside as \(aside); those of the configuration are used"
        )
    }

    func tokensLocked(reason: String, now: BootInstant) {
        logOnce(
            "the stored tokens cannot be read: \(reason). They are tried again each minute and with each upload; new "
                + "ones can be given with beekonctl auth seed",
            key: Self.authKey, .tokenFailed, now: now)
    }

    func tokensReadAgain() {
        Log.notice(.tokenRefreshed, "the stored tokens can be read again, and are used")
    }
}
