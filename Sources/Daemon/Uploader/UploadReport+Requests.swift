internal import Base
internal import Storage
internal import Synchronization
internal import Upload

/// What becomes of one request, from its batch to the answer that counts.
extension UploadReport {
    /// From now on the request carries this batch: whoever dissolves the batch has to cancel the request.
    func claimed(_ batch: UUIDv7) {
        snapshot.inFlightBatch = batch
    }

    /// The batch that goes out next, whether it was frozen just now or earlier.
    func frozen(_ batch: FrozenBatch) {
        debug(.frozen, batch.id, "\(batch.rows) locations and events, \(batch.request.body.count) bytes")
    }

    /// - Parameter time: the best clock known.
    func sending(_ batch: UUIDv7, _ request: Request, at time: Timestamp, now: BootInstant) {
        snapshot.storageError = nil
        snapshot.isUploading = true
        snapshot.lastAttempt = time
        let showsBody = board.requestListeners.load(ordering: .relaxed) == .bodies
        let attempt = watch.begin(
            batch, bytes: request.body.count, body: showsBody ? request.shown : nil, now: now)
        debug(.post, batch, "attempt \(attempt), \(request.body.count) bytes")
    }

    func requestEnded() {
        snapshot.inFlightBatch = nil
    }

    func failed(_ failure: TransportFailure, now: BootInstant) {
        let code = RequestCounts.Code(failure)
        port.requests.add(code)
        ended(watch.end(code.text, now: now))
        note(nil)
        snapshot.isClockSuspected = failure.kind == .clock
        snapshot.lastError =
            failure.kind == .clock
            ? "clock: the server's certificate is not valid yet, so this machine's time is wrong"
            : failure.message
    }

    /// An answer was not made for this request, or cannot be told from one that was not.
    ///
    /// - Parameter fault: what gives it away.
    func unmatched(_ fault: String, now: BootInstant) {
        port.requests.add(.unmatched)
        ended(watch.end(RequestCounts.Code.unmatched.text, now: now))
        note(nil)
        snapshot.lastError = "an answer did not belong to the request: \(fault)"
        unmatched(
            1,
            "did not belong to the request that was under way: \(fault); nothing is given up for it, and the same goes out "
                + "once more over a new connection", now: now)
    }

    /// Something had come on a kept connection before the next request went out, which was made on another one.
    ///
    /// - Parameter total: times since the start.
    func unrequested(_ total: Int, now: BootInstant) {
        guard total > unrequested else { return }
        let count = total - unrequested
        unrequested = total
        unmatched(
            count, "did not belong to any request: its connection was closed, and nothing is given up",
            now: now)
    }

    private func unmatched(_ count: Int, _ words: String, now: BootInstant) {
        snapshot.unmatchedAnswers += count
        if let last = lastUnmatched, now.seconds(since: last) < Self.logInterval { return }
        lastUnmatched = now
        warn(
            .answerUnmatched,
            "an answer of the server of \(port.name) \(words). It, or a proxy before it, answers a request twice, or before it "
                + "has read it",
            [(.destination, port.name.text)])
    }

    /// - Parameter judgement: of an answer, whether it will count or not.
    func answered(_ judgement: Judgement, now: BootInstant) {
        port.requests.add(.init(judgement))
        ended(
            watch.end(
                judgement.verdict.word, status: judgement.status, reason: judgement.reason, now: now))
        note(judgement)
    }

    /// - Parameter judgement: of the answer; nil: there is none.
    private func note(_ judgement: Judgement?) {
        lastBroker = judgement?.broker
        snapshot.lastReason = judgement?.reason
        snapshot.lastHTTPStatus = lastBroker == nil ? judgement?.status : nil
        snapshot.lastMQTTCode = lastBroker.map { Int($0.code) }
    }

    /// The request was broken off.
    func cancelled(now: BootInstant) {
        ended(watch.end("cancelled", now: now))
    }

    private func ended(_ record: RequestRecord?) {
        guard let record else { return }
        if let batch = record.batch {
            debug(
                .answer, batch,
                (record.status.map { "\($0), " } ?? "") + "\(record.outcome), after \(record.milliseconds) ms"
                    + (record.reason.map { ": \($0)" } ?? "")
            )
        }
        tell(record)
    }

    /// To subscribers, if there are any.
    func tell(_ record: @autoclosure () -> RequestRecord) {
        guard board.requestListeners.load(ordering: .relaxed) > .none else { return }
        post(.requestEnded(port.name, record()))
    }

    /// A stage in the life of a request, for who looks closely.
    enum Stage: String { case frozen, post, answer, acknowledged }

    func debug(
        _ stage: Stage, _ batch: UUIDv7, _ text: @autoclosure () -> String, _ event: Log.Event = .requestStage
    ) {
        Log.debug(
            event, "\(stage.rawValue): batch \(batch) for \(port.name), \(text())",
            [(.stage, stage.rawValue), (.batch, batch.description), (.destination, port.name.text)])
    }

    /// The answer counts.
    func recorded(_ judgement: Judgement, of batch: FrozenBatch, now: BootInstant) {
        recorded(judgement, bytes: batch.request.body.count)
        guard judgement.verdict == .accepted else { return }
        if judgement.isSilent { warnOfSilence(judgement.status) }
        if let saved = judgement.saved, saved < batch.rows {
            warnOfShortfall(saved, batch, now: now)
        }
    }

    /// Once: the server answers so each time.
    private func warnOfSilence(_ status: Int) {
        guard !hasWarnedOfSilence else { return }
        hasWarnedOfSilence = true
        warn(
            .acceptanceDoubtful,
            "the server of \(port.name) answers \(status) without a word on whether it has taken the batch, which is believed; "
                + "where it answers {\"result\":\"ok\"} to what it stores, set \(port.name.table).accept_member = \"result\"",
            [(.httpStatus, "\(status)"), (.destination, port.name.text)])
    }

    /// Warns that the server saved fewer rows than it was sent. It has taken the batch all the same: to send
    /// it again would bring the same.
    private func warnOfShortfall(_ saved: Int, _ batch: FrozenBatch, now: BootInstant) {
        if let last = lastShortfall, now.seconds(since: last) < Self.logInterval { return }
        lastShortfall = now
        warn(
            .acceptanceDoubtful,
            "the server of \(port.name) accepts a batch and says that it has saved \(saved) of \(batch.rows) locations: its log "
                + "should say why",
            [
                (.batch, batch.id.description), (.count, "\(batch.rows - saved)"),
                (.destination, port.name.text),
            ])
    }

    /// - Parameter bytes: of the body.
    func recorded(_ judgement: Judgement, bytes: Int) {
        snapshot.bytesSent += bytes
        snapshot.isClockSuspected = false
        guard judgement.verdict != .accepted else { return doubtOnce(judgement.broker) }
        snapshot.lastError =
            judgement.broker.map { OwnTracksMQTT.words($0) }
            ?? "the server answers \(judgement.status)" + (judgement.doubt?.words ?? "")
            + (judgement.reason.map { ": \($0)" } ?? "")
    }

    /// An acceptance that needs advice all the same: in MQTT 3.1.1.
    private func doubtOnce(_ answer: MQTTAnswer?) {
        guard !hasDoubted, let answer, answer.version == .v311, let advice = OwnTracksMQTT.advice(answer)
        else { return }
        hasDoubted = true
        warn(.uploadFailed, advice, [])
    }

    /// - Parameter failures: how many times in a row the next batch has failed because of its size or its time.
    func oversized(_ failures: Int) {
        snapshot.oversizedFailures = failures
    }

    func acknowledged(_ batch: FrozenBatch, at time: Timestamp) {
        let count = batch.rows
        snapshot.oversizedFailures = 0
        snapshot.uploaded += count
        succeeded(at: time)
        debug(
            .acknowledged, batch.id, "\(count) locations and events, \(batch.request.body.count) bytes",
            .uploaded)
    }

    func storageFailed(_ error: StorageError) {
        snapshot.storageError = error.report
        snapshot.lastError = "storage: " + error.message
    }
}
