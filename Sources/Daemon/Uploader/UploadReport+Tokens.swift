internal import Base
internal import Upload

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
