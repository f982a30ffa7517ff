internal import Base
internal import Storage
internal import Upload

/// What it tells of refusals, and what the servers said.
extension UploadReport {
    /// A drain begins.
    func drainBegan() {
        refused = (0, nil)
    }

    /// Rows that were refused for good since then, for who waits for the drain.
    var refusedRows: Int { refused.rows }

    /// How the drain failed; nil when it has not, or nobody knows. Where rows were refused for good it tells of these, and its
    /// error of what holds up the rest.
    func trouble(_ outcome: DrainOutcome) -> SyncResult.Trouble? {
        switch outcome {
        case .drained:
            guard let latest = refused.latest else { return nil }
            return .init(httpStatus: latest.status == 0 ? nil : latest.status, reason: latest.reason)
        case .transient, .failed:
            if case .transient = outcome, let latest = refused.latest {
                return .init(
                    httpStatus: latest.status == 0 ? nil : latest.status, error: snapshot.lastError,
                    reason: latest.reason)
            }
            guard snapshot.storageError == nil else { return .init(error: snapshot.lastError) }
            return .init(
                httpStatus: snapshot.lastHTTPStatus, mqttCode: snapshot.lastMQTTCode,
                error: snapshot.lastError, reason: snapshot.lastReason)
        }
    }

    /// A number and what the server said with it: `422: vehicle "truck-12" is not registered`.
    func answer(_ status: Int?) -> String {
        (status.map { "\($0)" } ?? "no status") + (snapshot.lastReason.map { ": \($0)" } ?? "")
    }

    /// What the server has said of the latest refusal, or the broker, which has no number that is an HTTP status.
    var refusalReason: String? {
        snapshot.lastReason ?? lastBroker.map { OwnTracksMQTT.words($0) }
    }

    /// Rows are dead letters now.
    ///
    /// - Parameter time: the best clock known.
    func deadLettered(_ count: Int, of batch: FrozenBatch, at time: Timestamp) {
        let status = snapshot.lastHTTPStatus
        let refusal = Refusal(status: status ?? 0, reason: snapshot.lastReason, time: time)
        refused = (refused.rows + count, refusal)
        snapshot.rejection = refusal
        let said =
            status == nil
            ? snapshot.lastReason ?? "the connection was closed without an answer" : answer(status)
        warn(
            .batchRejected,
            "the server has rejected \(count) locations (\(said)); they are kept as dead letters for 7 days",
            [
                (.batch, batch.id.description), (.httpStatus, status.map { "\($0)" } ?? ""),
                (.count, "\(count)"),
            ])
    }

    /// How the newest of the dead letters that are kept were refused.
    func known(_ refusal: Refusal?) {
        snapshot.rejection = refusal
    }

    /// The row of a batch was why it was refused: a probe has shown it.
    ///
    /// - Parameters:
    ///   - status: the answer to it; 0: none.
    ///   - reason: what the server said.
    func probed(status: Int, reason: String?) {
        snapshot.lastHTTPStatus = status == 0 ? nil : status
        snapshot.lastReason = reason
    }

    /// The server has taken something.
    func succeeded(at time: Timestamp) {
        (snapshot.lastSuccess, snapshot.isSuccessElsewhere) = (time, false)
    }

    /// What is known of the answers is about another server.
    func serverChanged() {
        snapshot.isSuccessElsewhere = snapshot.lastSuccess != nil
        (snapshot.lastHTTPStatus, snapshot.lastMQTTCode, snapshot.lastReason) = (nil, nil, nil)
        (snapshot.lastError, snapshot.failure) = (nil, nil)
    }
}
