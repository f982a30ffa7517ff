internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// How far a batch has got.
enum Attempt {
    case answered(HTTPOutcome)
    /// It was not sent, or not again: the credentials do not do.
    case ended(DrainOutcome)
}

extension Uploader {
    /// Seconds that an exchange has left when the daemon stops: an answer that is lost may be a pair that is lost.
    private static let lastExchange = 0.9

    /// What a line about dead credentials and one about an upload that fails for them have in common: one is enough.
    private static let authKey = DrainOutcome.Failure.auth.rawValue

    func instant(_ now: BootInstant) -> Authenticator.Instant {
        Authenticator.Instant(now: now, time: hub.clock.trusted(now: now))
    }

    // MARK: Uploads

    /// Sends a batch with the token that goes with it. Refused, the token is refreshed once, and the batch sent once more.
    func attempt(_ batch: FrozenBatch, _ sync: Settings.Sync) throws(StorageError) -> Attempt {
        if let end = prepare() { return .ended(end) }
        let sent = auth.authorization
        let outcome = try send(batch, sync, authorization: sent)
        noteSuccess(outcome, sent)
        guard case .response(let status, _, _) = outcome, auth.isActive, !isStopping,
            Verdict(status: status, retryAfter: nil) == .unauthorised
        else { return .answered(outcome) }
        snapshot.lastHTTPStatus = status
        // Somebody has changed the configuration meanwhile: the next batch goes by the new one.
        guard settings.sync == sync else { return .answered(.cancelled) }
        if let end = renew(afterRefusalOf: sent) { return .ended(end) }
        let renewed = auth.authorization
        let second = try send(batch, sync, authorization: renewed)
        noteSuccess(second, renewed)
        return .answered(second)
    }

    /// Whoever looks into a batch, if only to reject it, has taken the token.
    private func noteSuccess(_ outcome: HTTPOutcome, _ sent: String?) {
        guard case .response(let status, _, let doubt) = outcome else { return }
        switch Verdict(status: status, retryAfter: nil, doubt: doubt) {
        case .accepted, .rejected: auth.worked(sent)
        case .unauthorised, .transient, .permanent: break
        }
    }

    /// Does what has to be done before a request. nil: it may go out.
    private func prepare() -> DrainOutcome? {
        if auth.need(instant(.current()), isForced: isForced) == .refresh { refresh() }
        switch auth.need(instant(.current()), isForced: false) {
        case .nothing: return saveTokens() || !auth.awaitsDisk ? nil : waitForDisk()
        // The exchange could not even begin. What is left of the token is used up meanwhile.
        case .refresh: return auth.authorization == nil || isStopping ? waitForDisk() : nil
        case .wait(let seconds): return wait(seconds)
        case .dead: return giveUp()
        }
    }

    /// Does what has to be done after a refusal. nil: the batch may be sent once more.
    private func renew(afterRefusalOf sent: String?) -> DrainOutcome? {
        switch auth.need(afterRefusalOf: sent, instant(.current()), isForced: isForced) {
        case .nothing: return saveTokens() || !auth.awaitsDisk ? nil : waitForDisk()
        case .wait(let seconds): return wait(seconds)
        case .dead:
            saveTokens()
            return giveUp()
        case .refresh: break
        }
        switch refresh() {
        case .renewed: return auth.awaitsDisk ? waitForDisk() : nil
        case .later(let seconds): return wait(seconds)
        case .dead: return giveUp()
        case nil: return .transient(isNetwork: false, retryAfter: nil)
        }
    }

    private func wait(_ seconds: Double) -> DrainOutcome {
        snapshot.lastError = snapshot.lastError ?? "the token cannot be refreshed"
        // A lost network has a back-off of its own, which ends when the network is back.
        return auth.waitsForNetwork
            ? .transient(isNetwork: true, retryAfter: nil) : .transient(isNetwork: false, retryAfter: seconds)
    }

    private func waitForDisk() -> DrainOutcome {
        .transient(isNetwork: false, retryAfter: nil)
    }

    private func giveUp() -> DrainOutcome {
        snapshot.lastError = auth.record.death?.words(auth.record.deathStatus) ?? "there is no token"
        return .failed(.auth)
    }

    // MARK: Exchanges

    /// Refreshes a token that runs out, or tries dead ones once more, though there is nothing to upload.
    func refreshWhenIdle(now: BootInstant) {
        guard let due = auth.idleDue(instant(now)), due <= now else { return }
        // Nothing is wrong with the upload.
        let error = snapshot.lastError
        refresh(isIdle: true)
        snapshot.lastError = error
        client.disconnect()
        publish()
    }

    /// One exchange with the token endpoint.
    ///
    /// - Returns: nil when it did not take place, or was broken off for the end of the daemon.
    @discardableResult
    private func refresh(isIdle: Bool = false) -> Authenticator.Result? {
        guard let sync = settings.sync, let url = sync.auth?.refreshURL,
            let request = auth.begin(instant(.current()))
        else { return nil }
        // That an exchange is under way has to be known after a power cut.
        guard saveTokens() else {
            auth.callOff()
            return nil
        }
        var options = HTTPOptions(sync, authorization: nil)
        options.url = url
        options.headers = request.headers
        options.timeout = TokenRequest.timeout
        var stopSeen: BootInstant?
        let (outcome, body) = client.exchange(request.body, options, wakeup: hub.uploader.wakeup) {
            let now = BootInstant.current()
            hub.board.uploaderWork.begin(now)
            // Commands wait until the exchange is over; the wake-up would come again and again.
            hub.uploader.wakeup.clear()
            guard isStopping else { return false }
            stopSeen = stopSeen ?? now
            return now.seconds(since: stopSeen ?? now) >= Self.lastExchange
        }
        // What came meanwhile is still in the mailbox.
        hub.uploader.wakeup.signal()
        let answer: Authenticator.Answer
        switch outcome {
        case .cancelled: return nil
        case .failure(let failure): answer = .lost(wasSent: failure.wasSent)
        case .response(let status, let retryAfter, _):
            let time = hub.clock.time(now: .current())
            let wait = retryAfter.flatMap { RetryAfter.seconds($0, at: time) }
            answer = .response(status: status, body: body, retryAfter: wait)
        }
        let result = auth.end(answer, instant(.current()), using: &random)
        saveTokens()
        tell(result, outcome, isIdle: isIdle)
        publish()
        return result
    }

    private func tell(_ result: Authenticator.Result, _ outcome: HTTPOutcome, isIdle: Bool) {
        let now = BootInstant.current()
        switch result {
        case .renewed:
            snapshot.lastError = nil
            let expiry = auth.record.tokens.expiresAt.map {
                "; the new one expires at \(Timestamp(milliseconds: $0 &* 1000).iso8601)"
            }
            Log.info(.tokenRefreshed, "the token has been refreshed" + (expiry ?? ""))
        case .later(let seconds):
            let reason =
                switch outcome {
                case .response(let status, _, _): "the token endpoint answers \(status)"
                case .failure(let failure): failure.message
                case .cancelled: "broken off"
                }
            if case .failure(let failure) = outcome { snapshot.isClockSuspected = failure.kind == .clock }
            snapshot.lastError = "the token could not be refreshed: " + reason
            // Else the end of the drain is told, with this for its reason.
            guard isIdle else { return }
            let pause = Int(seconds.rounded(.up))
            report(
                "the token could not be refreshed (\(reason)); trying again in \(pause) s", reason,
                .tokenFailed,
                now: now)
        case .dead(let death):
            let status = auth.record.deathStatus
            snapshot.lastError = death.words(status)
            report(death.advice(status), Self.authKey, .tokenFailed, now: now)
        }
    }

    // MARK: Seeds and the disk

    /// Takes up the credentials of the configuration, and what is stored of them.
    func adoptTokens(now: BootInstant) {
        let plan = settings.sync.flatMap { AuthPlan($0) }
        if plan != nil, !hasLoadedTokens {
            hasLoadedTokens = true
            load(now: now)
        }
        let before = auth.record.death
        auth.configure(plan)
        saveTokens()
        if let death = auth.record.death, death != before {
            report(death.advice(auth.record.deathStatus), Self.authKey, .tokenFailed, now: now)
        }
    }

    private func load(now: BootInstant) {
        var record: AuthRecord?
        var refusal: String?
        do {
            switch try tokens.load() {
            case .nothing: break
            case .record(let stored): record = stored
            case .locked(let reason): refusal = reason
            case .damaged(let aside):
                hub.board.note(damaged: "tokens")
                Log.error(
                    .tokenFailed,
                    "the stored tokens are damaged and were put aside as \(aside); those of the configuration are used"
                )
            }
        } catch {
            refusal = error.advice
        }
        auth = Authenticator(record: record, now: now, using: &random)
        guard let refusal else { return }
        auth.lock()
        report(
            "the stored tokens cannot be read: \(refusal). Bring beekond.key back (the systemd credential, or the "
                + "file in the state directory), or give new tokens with beekonctl auth seed",
            Self.authKey, .tokenFailed, now: now)
    }

    /// Adopts tokens that an administrator has given; they are on disk when this returns.
    func seed(_ pair: Tokens, now: BootInstant) -> Result<Void, Failure> {
        var seeded = auth
        guard seeded.seed(pair) else {
            return .failure(Failure(reason: "there is no table [sync.auth] in the configuration"))
        }
        do {
            try tokens.save(seeded.record, isOverwriting: auth.record.death != .key, using: &random)
        } catch {
            return .failure(Failure(reason: error.description))
        }
        hub.board.note(renewed: "tokens")
        seeded.saved()
        auth = seeded
        schedule.trigger(.command, now: now, using: &random)
        Log.notice(.tokenRefreshed, "new tokens have been given")
        publish()
        return .success(())
    }

    /// Writes what has to survive, if there is anything new.
    ///
    /// - Returns: whether the disk has it.
    @discardableResult
    private func saveTokens() -> Bool {
        guard !auth.isSaved, auth.record.death != .key else { return true }
        do {
            try tokens.save(auth.record, using: &random)
            auth.saved()
            return true
        } catch {
            snapshot.lastError = "the tokens cannot be written: " + error.description
            report("the tokens cannot be written (\(error)); trying again", "tokens", now: .current())
            return false
        }
    }
}
