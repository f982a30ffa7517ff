internal import Base
internal import Configuration
internal import ControlProtocol
internal import Storage
internal import Upload

/// A batch that is too large for the link or for the server.
extension Uploader {
    /// Payload too large.
    static let tooLarge = 413
    /// The server waited too long for the request.
    private static let tooSlow = 408
    /// Failures in a row after which the log says what can be done.
    private static let manyFailures = 3

    /// The server has not accepted the batch: because of its size, its time, or for another reason.
    func judgeSize(_ batch: FrozenBatch, _ status: Int) throws(StorageError) {
        if status == Self.tooLarge || status == Self.tooSlow {
            try countOversized(batch, isPermanent: status == Self.tooLarge)
        } else {
            try hub.store.forgetOversized(batch)
            snapshot.oversizedFailures = 0
        }
    }

    func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(StorageError) {
        let count = try hub.store.countOversized(batch, isPermanent: isPermanent)
        snapshot.oversizedFailures = count
    }

    /// Appended to the message of a failure once a batch has often failed because of its size.
    var oversizedAdvice: String? {
        guard snapshot.oversizedFailures >= Self.manyFailures else { return nil }
        return
            "; the batch has failed \(snapshot.oversizedFailures) times in a row because of its size or its time: raise "
            + "sync.timeout_seconds, or lower sync.batch_size (\(settings.sync?.batchSize ?? 0)) and then beekonctl sync "
            + "--rebatch, after which its rows may arrive twice"
    }

    /// An administrator wants smaller batches instead of the one that keeps failing.
    func rebatch() -> Result<Rebatched, Failure> {
        if unacknowledged != nil {
            return .failure(
                .init(
                    kind: .noRebatch,
                    reason: "the batch has been acknowledged, which only waits for the disk"))
        }
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
                        + "times in a row; only after \(Self.manyFailures) may it be dissolved, because its rows "
                        + "may then arrive twice"))
        case .dissolved(let id, let locations, let events):
            if snapshot.inFlightBatch == id { isAborted = true }
            snapshot.oversizedFailures = 0
            Log.notice(
                .batchDissolved,
                "batch \(id) with \(locations) locations and \(events) events has been dissolved by an administrator; "
                    + "they go into batches of \(settings.sync?.batchSize ?? 0), and may arrive twice",
                [(.batch, id.description), (.count, "\(locations + events)")])
            return .success(Rebatched(batch: id, rows: locations + events))
        }
    }
}

/// The fate of a batch that keeps failing.
struct Rebatched: Sendable {
    var batch: UUIDv7
    /// Number of locations and events that go into new batches.
    var rows: Int
}

extension Doubt {
    /// Appended to "the server answers 200".
    var words: String {
        switch self {
        case .page: " with a page, which is not believed"
        case .noAck: " without an acknowledgement of the batch (sync.require_ack)"
        }
    }
}
