internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Upload

/// What a destination of a foreign format has refused, or closed the connection on, and for how long: read once from the
/// database, and written there whenever it changes. While all is accepted nothing is written.
///
/// Confined to the uploader's thread.
final class RefusalRecord {
    private let store: Store
    private let name: DestinationName
    /// The counts in the database; nil: not read yet.
    private var stored: Refusals?
    /// The answer to the row that was refused; 0: the connection was closed without one.
    private(set) var status = 0
    /// The reason that the server gave; nil: none.
    private(set) var reason: String?

    init(store: Store, of name: DestinationName) {
        self.store = store
        self.name = name
    }

    /// The endpoint or the format may have changed.
    func reload() {
        stored = nil
    }

    /// A request has ended.
    ///
    /// - Returns: whether that is a permanent refusal though there was no answer.
    func observe(_ ending: SilentCloses.Ending, in format: Format) -> Bool {
        // A count that the disk does not take is none: an answer must not be lost for that.
        guard format.traits.isForeign, var refusals = try? read() else { return false }
        var closes = SilentCloses(count: refusals.silentCloses)
        let isRefusal = closes.observe(ending)
        refusals.silentCloses = closes.count
        do { try write(refusals) } catch { return false }
        return isRefusal
    }

    /// The batch with the oldest row was refused for good.
    ///
    /// - Parameters:
    ///   - status: the answer; 0: none, time and again.
    ///   - reason: what it said.
    /// - Returns: whether the row behind it is to be tried.
    func count(
        _ batch: FrozenBatch, _ doubt: Doubt?, status: Int, reason: String?, isScheduled: Bool
    ) throws(StorageError) -> Bool {
        (self.status, self.reason) = (status, reason)
        var refusals = try read()
        var row = RefusedRow(row: refusals.batch, refusals: refusals.count)
        let step = row.refused(batch.id, doubt: doubt, isScheduled: isScheduled)
        (refusals.batch, refusals.count) = (row.row, row.refusals)
        try write(refusals)
        return step == .probeNext
    }

    /// The row behind it was accepted.
    ///
    /// - Returns: whether the batch was refused for its row. Forgotten with it, in the same transaction.
    func isAtFault(_ batch: FrozenBatch) throws(StorageError) -> Bool {
        let refusals = try read()
        var row = RefusedRow(row: refusals.batch, refusals: refusals.count)
        stored = nil
        return row.probed(.accepted) == .deadLetter(batch.id)
    }

    private func read() throws(StorageError) -> Refusals {
        if let stored { return stored }
        let found = try store.refusals(by: name)
        stored = found
        return found
    }

    private func write(_ refusals: Refusals) throws(StorageError) {
        guard refusals != stored else { return }
        stored = nil
        try store.set(refusals, by: name)
        stored = refusals
    }
}
