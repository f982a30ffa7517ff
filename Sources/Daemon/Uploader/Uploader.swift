internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The uploader thread: freezes a batch, sends it, and deletes what was acknowledged. One request at a time.
///
/// Confined to its thread.
final class Uploader {
    let hub: Hub
    let installID: String
    let model: String?
    var settings: Settings
    var schedule: DrainSchedule
    var client: HTTPClient
    let gzip: Gzip
    var payload: Payload
    var ids: UUIDv7Generator
    var random = SystemRandomNumberGenerator()
    var snapshot = UploaderSnapshot()
    /// Those who asked for an attempt and wait for its result.
    var waiting: [Token] = []
    /// A complete 2xx whose rows could not be deleted yet: the deletion is tried again, not the request.
    var unacknowledged: FrozenBatch?
    var isAborted = false
    /// The store knows where batches go now.
    var isEndpointAdopted = false
    let tokens: TokenStore
    var auth: Authenticator
    /// The stored tokens have been looked at.
    var hasLoadedTokens = false
    /// The user has asked for the drain under way: no back-off counts.
    var isForced = false
    private var lastLoggedError: (text: String, now: BootInstant)?

    /// Seconds after which the same fault is logged again.
    private static let logInterval = 3600.0

    /// - Returns: nil when libcurl or zlib cannot work here.
    init?(hub: Hub, settings: Settings, installID: String, tokens: TokenStore, now: BootInstant) {
        guard let client = HTTPClient(), let gzip = Gzip() else { return nil }
        self.hub = hub
        self.installID = installID
        self.settings = settings
        self.client = client
        self.gzip = gzip
        self.tokens = tokens
        auth = Authenticator(record: nil, now: now, using: &random)
        model = Machine.model()
        payload = Payload(sender: Sender(installID: installID, settings.sync, model: model))
        ids = UUIDv7Generator(using: &random)
        schedule = DrainSchedule(interval: settings.sync?.intervalSeconds ?? 300, now: now, using: &random)
    }

    /// Runs until the daemon stops.
    func run() {
        adopt(settings)
        if settings.sync != nil, snapshot.storageError != nil || hub.store.counts().pending > 0 {
            schedule.trigger(.started, now: .current(), using: &random)
        }
        while !isStopping {
            let now = BootInstant.current()
            hub.board.uploaderWork.begin(now)
            takeCommands(now: now)
            if settings.sync != nil, schedule.due <= now { drain() } else { refreshWhenIdle(now: now) }
            publish()
            hub.board.uploaderWork.rest()
            if !isStopping { waitForWork() }
        }
        client.disconnect()
        hub.tell(.uploaderEnded)
    }

    var isStopping: Bool { hub.board.isStopping.load(ordering: .relaxed) }

    private func waitForWork() {
        var poll = PollSet()
        poll.add(hub.uploader.wakeup.descriptor)
        let now = BootInstant.current()
        let due = settings.sync == nil ? nil : min(schedule.due, auth.idleDue(instant(now)) ?? schedule.due)
        poll.wait(seconds: due.map { max($0.seconds(since: now), 0) })
    }

    // MARK: Commands

    func takeCommands(now: BootInstant) {
        for command in hub.uploader.takeAll() {
            switch command {
            case .trigger(let trigger):
                if case .networkReturned = trigger { auth.networkReturned() }
                schedule.trigger(trigger, now: now, using: &random)
            case .sync(let token): sync(token, now: now)
            case .abort(let batches):
                if let current = snapshot.inFlightBatch, batches.contains(current) { isAborted = true }
            case .rebatch(let token): rebatch(token)
            case .seed(let pair, let token): hub.tell(.seeded(token, seed(pair, now: now)))
            case .configure(let settings): configure(settings, now: now)
            case .storageRecovered:
                if snapshot.storageError != nil { schedule.trigger(.command, now: now, using: &random) }
            case .end: break
            }
        }
    }

    private func sync(_ token: Token, now: BootInstant) {
        let pending = hub.store.counts().pending
        guard settings.sync != nil else {
            return hub.tell(.synced(token, SyncResult(outcome: .disabled, uploaded: 0, pending: pending)))
        }
        waiting.append(token)
        schedule.trigger(.command, now: now, using: &random)
    }

    private func configure(_ new: Settings, now: BootInstant) {
        let old = settings.sync
        settings = new
        guard new.sync != old else { return }
        // The batch under way stays frozen; it goes out again at once, to where it is wanted now. What only says when to
        // send must not keep a batch from ever getting through.
        if new.sync?.request != old?.request { isAborted = true }
        adopt(new)
        if let sync = new.sync {
            schedule.change(interval: sync.intervalSeconds, now: now, using: &random)
            schedule.trigger(.command, now: now, using: &random)
        }
    }

    private func adopt(_ settings: Settings) {
        payload = Payload(sender: Sender(installID: installID, settings.sync, model: model))
        snapshot.isConfigured = settings.sync != nil
        isEndpointAdopted = false
        adoptTokens(now: .current())
        do {
            try adoptEndpoint()
        } catch {
            snapshot.storageError = error.report
            report("the change of the endpoint could not be written: \(error.message)", nil, now: .current())
        }
    }

    /// Tells the store where batches go now. What fails is tried again before the next batch.
    func adoptEndpoint() throws(StorageError) {
        guard !isEndpointAdopted, let sync = settings.sync else { return }
        try hub.store.adopt(endpoint: sync.fingerprint)
        isEndpointAdopted = true
    }

    // MARK: Draining

    private func drain() {
        let started = BootInstant.current()
        isForced = schedule.isForced
        schedule.begin(now: started, using: &random)
        // Who asks while this drain runs gets one of its own.
        let askers = waiting
        waiting = []
        let before = snapshot.uploaded
        // While storage fails nobody knows what is pending.
        let hadWork = unacknowledged != nil || snapshot.storageError != nil || hub.store.counts().pending > 0
        let outcome = hadWork ? sendAll() : .drained
        // Which tells what the store has met with.
        if hadWork { hub.reader.wakeup.signal() }
        let ended = BootInstant.current()
        snapshot.inFlightBatch = nil
        snapshot.isUploading = false
        // One connection for each drain: nothing is held open until the next, which may be hours away.
        client.disconnect()
        let delay = isStopping ? nil : schedule.end(outcome, now: ended, using: &random)
        report(outcome, retryIn: delay, hadWork: hadWork, now: ended)
        publish()
        let pending = hub.store.counts().pending
        // The url may have been removed meanwhile: pending rows then stay pending.
        let result = SyncResult(
            outcome: settings.sync == nil ? .disabled : SyncResult.Outcome(outcome, hadWork: hadWork),
            uploaded: snapshot.uploaded - before, pending: pending)
        for token in askers { hub.tell(.synced(token, result)) }
        if result.uploaded >= Self.longDrain { releaseMemory() }
    }

    private func report(_ outcome: DrainOutcome, retryIn delay: Double?, hadWork: Bool, now: BootInstant) {
        switch outcome {
        case .drained:
            snapshot.failure = nil
            snapshot.isClockSuspected = false
            snapshot.lastError = nil
            guard hadWork, lastLoggedError != nil, !isStopping else { return }
            lastLoggedError = nil
            // Without a url the drain has ended before anything was delivered.
            if settings.sync != nil {
                Log.notice(.uploadRecovered, "uploading works again; nothing is pending")
            }
        case .transient:
            snapshot.failure = nil
            guard let delay, let error = snapshot.lastError else { return }
            let pause = "trying again in \(Int(delay.rounded(.up))) s"
            if snapshot.storageError == nil {
                let advice = oversizedAdvice
                report(
                    "upload failed (\(error)); \(pause)" + (advice ?? ""),
                    advice == nil ? error : "oversized", now: now)
            } else {
                let what =
                    unacknowledged == nil ? "uploading waits for storage" : "uploaded, but not yet deleted"
                report(
                    "\(what) (\(error)); \(pause), and nothing is sent meanwhile", "storage", now: now)
            }
        case .failed(let failure):
            snapshot.failure = failure
            let advice = failure == .auth ? auth.record.death?.advice(auth.record.deathStatus) : nil
            let size = failure == .permanent ? oversizedAdvice : nil
            report(
                advice ?? failure.advice(snapshot.lastHTTPStatus, settings.sync) + (size ?? ""),
                size == nil ? failure.rawValue : "oversized", now: now)
        }
    }

    /// Says it when it begins or changes, then once an hour.
    func report(_ message: String, _ key: String?, _ event: Log.Event = .uploadFailed, now: BootInstant) {
        let key = key ?? message
        if let last = lastLoggedError, last.text == key, now.seconds(since: last.now) < Self.logInterval {
            return
        }
        lastLoggedError = (key, now)
        Log.warning(event, message, snapshot.lastHTTPStatus.map { [(.httpStatus, "\($0)")] } ?? [])
    }

    func publish() {
        snapshot.retries = schedule.retries
        snapshot.nextAttempt = settings.sync == nil ? nil : schedule.due
        snapshot.auth = auth.state(instant(.current()))
        let before = hub.board.uploaderSnapshot
        guard snapshot != before else { return }
        hub.board.publish(snapshot)
        if snapshot.isUploading != before.isUploading || snapshot.failure != before.failure {
            hub.tell(.syncChanged)
        }
        if snapshot.auth != before.auth { hub.tell(.authChanged) }
    }
}

extension SyncResult.Outcome {
    init(_ outcome: DrainOutcome, hadWork: Bool) {
        self =
            switch outcome {
            case .drained: hadWork ? .drained : .nothingPending
            case .transient: .transient
            case .failed(.auth): .auth
            case .failed(.permanent), .failed(.page), .failed(.noAck): .permanent
            case .failed(.rejected), .failed(.deadLettersFull): .rejected
            }
    }
}

extension DrainOutcome.Failure {
    /// What happened, and what to do.
    func advice(_ status: Int?, _ sync: Settings.Sync?) -> String {
        let code = status.map { "\($0)" } ?? "no status"
        let next = "; nothing is lost, the next attempt follows on the schedule"
        return switch self {
        case .auth:
            "the server refuses our credentials (\(code)): check [sync.headers] and [sync.auth]" + next
        case .permanent where status == 413:
            "the server finds the batch too large (413): lower sync.batch_size (\(sync?.batchSize ?? 0)) or raise "
                + "the server's limit" + next
        case .page:
            "a page answers \(code) in the backend's place, which is not believed: look for a captive portal, a "
                + "single-page app's fallback or a maintenance page at sync.url" + next
        case .noAck:
            "the answer (\(code)) does not acknowledge the batch, which sync.require_ack demands: the backend must "
                + "answer a JSON object with this batch_id, or require_ack be set to false" + next
        case .permanent: "the server refuses the upload for good (\(code)): check sync.url" + next
        case .rejected:
            "the server has rejected three batches in a row (\(code)): it is suspected, not the data. "
                + "Check that it unpacks gzip once and takes this format; one probe follows each \(Int(sync?.intervalSeconds ?? 300)) s"
        case .deadLettersFull:
            "the server has rejected a batch (\(code)), and the table of dead letters is full: see beekonctl rejected "
                + "list, then send them again (beekonctl rejected retry, once the server is mended), or export and delete "
                + "them (beekonctl rejected purge), and the upload goes on" + next
        }
    }
}

extension Sender {
    init(installID: String, _ sync: Settings.Sync?, model: String?) {
        self.init(
            installID: installID, platform: sync?.platform ?? "linux", version: Release.version, model: model)
    }
}

extension Settings.Sync {
    /// Without what says nothing about a request that is under way.
    var request: Settings.Sync {
        var sync = self
        sync.intervalSeconds = 0
        sync.syncThreshold = 0
        sync.onReject = .drop
        return sync
    }

    /// Differs whenever the url or the batch size do: FNV-1a, which is the same in every run.
    var fingerprint: Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in "\(batchSize) \(url)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
        }
        return Int64(bitPattern: hash)
    }
}
