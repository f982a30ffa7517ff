internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// Long work, carried out in steps between fixes so that it delays none: deletions, kept rows that are sent again, dead
/// letters that are moved, and rows beyond a lowered cap.
///
/// Rows get new numbers on their way back into the queue, by which a deletion would not know them any more: while there is
/// one, they wait. A deletion that fails is tried again; one that is interrupted by the end of the daemon is completed at
/// its next start.
///
/// Confined to the reader's thread.
final class StepwiseWork {
    /// What has ended, for the client that waits.
    struct Answer {
        var token: Token
        var result: Result<Completion, CommandFailure>
    }

    private struct DeletionUnderWay {
        var work: Deletion
        /// nil: no client waits. The daemon has been restarted meanwhile, or a step has failed and the client knows.
        var token: Token?
        /// When to continue after a failure; nil: at once.
        var retryAt: BootInstant?
        /// In seconds. A failed deletion starts with its first step again, which may rewrite the database.
        var backOff = BackOff(first: 1, ceiling: 300)
        /// The failure that has been logged.
        var failure: String?
    }

    private let hub: Hub
    private let recorder: Recorder
    private let outbox: Outbox
    private var deletion: DeletionUnderWay?
    private var owed: (work: OwedWork, token: Token)?
    private var rejected: (work: RejectedWork, act: RejectedWork.Act, token: Token)?
    /// There may be more rows outside of batches than the cap allows.
    private var mayShrink = true
    private var random: RandomSource

    init(hub: Hub, recorder: Recorder, outbox: Outbox, random: RandomSource = RandomSource()) {
        self.random = random
        self.hub = hub
        self.recorder = recorder
        self.outbox = outbox
    }

    /// Something is to be done before the next fix.
    var hasSteps: Bool {
        if let deletion { return deletion.retryAt == nil || rejected?.act == .purge }
        return rejected != nil || owed != nil
    }

    /// One step of each.
    ///
    /// - Returns: what has ended with it.
    func run(now: BootInstant) -> [Answer] {
        guard isDeleting || rejected != nil || owed != nil else { return [] }
        return [continueDeletion(now: now), continueRejected(), continueOwed()].compactMap(\.self)
    }

    // MARK: Deletion

    /// One is under way, or has failed and is tried again.
    var isDeleting: Bool { deletion != nil }
    /// The time up to which rows are deleted; nil: all of them.
    var cutoff: Timestamp? { deletion?.work.cutoff }
    /// When a deletion that has failed is tried again.
    var retryAt: BootInstant? { deletion?.retryAt }

    /// Whether the deletion under way covers this time.
    func isDoomed(_ time: Timestamp?) -> Bool {
        guard let time, let deletion else { return false }
        return deletion.work.cutoff.map { time <= $0 } ?? true
    }

    /// The tail without what is being deleted: it must not come back with the next row.
    func remainder(of tail: SessionTail) -> SessionTail {
        guard let deletion else { return tail }
        let isGone = deletion.work.cutoff == nil || tail.reference.map { isDoomed($0.time) } ?? true
        return isGone ? SessionTail(reference: nil, odometer: tail.odometer) : tail
    }

    /// Another deletion is refused meanwhile; but one may follow a deletion that has failed.
    func refuseWhileDeleting() throws(CommandFailure) {
        guard let deletion, deletion.retryAt == nil else { return }
        throw CommandFailure(kind: .busy(seconds: 1), reason: "another deletion is in progress")
    }

    /// Begins a deletion, and forgets the rows that wait in memory: they would otherwise be written after it.
    ///
    /// - Parameter cutoff: rows at or before it go; nil: all.
    /// - Returns: up to which time everything goes, earlier requests included; nil: all.
    func delete(before cutoff: Timestamp?, for token: Token) throws(CommandFailure) -> Timestamp? {
        var work: Deletion
        do {
            work = try hub.store.beginDeletion(before: cutoff)
        } catch {
            let reason = error.message + "; nothing was deleted: try again once storage works"
            Log.error(.erased, "a deletion could not be begun: \(reason)")
            throw CommandFailure(reason: reason)
        }
        work.add(discarded: recorder.discard(upTo: cutoff))
        deletion = DeletionUnderWay(work: work, token: token)
        return work.cutoff
    }

    /// Takes up a deletion that was interrupted.
    func resumeDeletion() throws(StorageError) {
        guard deletion == nil, let work = try hub.store.unfinishedDeletion() else { return }
        Log.notice(.erased, "a deletion that was interrupted continues")
        deletion = DeletionUnderWay(work: work)
    }

    private func continueDeletion(now: BootInstant) -> Answer? {
        guard var current = deletion, current.retryAt.map({ $0 <= now }) ?? true else { return nil }
        let dissolved = current.work.dissolved.count
        do {
            if current.retryAt != nil {
                // Storage has failed meanwhile, so the database may be another one.
                guard let work = try hub.store.unfinishedDeletion() else {
                    deletion = nil
                    return nil
                }
                current.work = work
                current.retryAt = nil
            }
            try hub.store.proceed(with: &current.work)
        } catch {
            return retry(current, after: error, now: now)
        }
        if current.work.dissolved.count > dissolved {
            outbox.deliver(toUploaders: .abort(Array(current.work.dissolved[dissolved...])))
        }
        deletion = current.work.isFinished ? nil : current
        return current.work.isFinished ? completed(current) : nil
    }

    private func completed(_ done: DeletionUnderWay) -> Answer? {
        if done.failure != nil { Log.notice(.erased, "the deletion that failed before is completed") }
        if !done.work.kept.isEmpty {
            Log.warning(
                .erased,
                "deleted up to the time that was given, but nothing can be cut out of these, which may hold positions from "
                    + "before: \(Configurator.list(done.work.kept)). Delete such files by hand, or delete everything"
            )
        }
        let removal = Completion.removal(removed: done.work.removed, kept: done.work.kept)
        return done.token.map { Answer(token: $0, result: .success(removal)) }
    }

    private func retry(_ failed: DeletionUnderWay, after error: StorageError, now: BootInstant) -> Answer? {
        var next = failed
        next.retryAt = now.advanced(bySeconds: next.backOff.next(using: &random))
        next.token = nil
        let reason = error.message + "; the rest is tried again until it is deleted, also after a restart"
        if failed.failure != error.message { Log.error(.erased, "a deletion was not completed: \(reason)") }
        next.failure = error.message
        deletion = next
        return failed.token.map { Answer(token: $0, result: .failure(CommandFailure(reason: reason))) }
    }

    // MARK: Rows on their way back into the queue

    /// A destination is to be owed more, or nothing.
    ///
    /// - Parameter isDeletionKnown: the store has said whether a deletion was interrupted.
    func begin(_ work: OwedWork, for token: Token, isDeletionKnown: Bool) throws(CommandFailure) {
        guard owed == nil else {
            throw CommandFailure(
                kind: .busy(seconds: 1), reason: "rows are being put back into the queue already")
        }
        try refuseBeforeDeletion(isKnown: isDeletionKnown)
        // One that still has a thread gets the newest location, for which it needs its tokens.
        if case .forget(let forgetting) = work,
            forgetting.destination == .main || hub.uploaders[forgetting.destination] == nil
        {
            // First: once the destination is forgotten, nobody would ask again.
            do {
                try hub.files.remove { TokenStore.holds($0, tokensOf: forgetting.destination) }
            } catch {
                throw CommandFailure(reason: "the tokens could not be removed: \(error)")
            }
        }
        owed = (work, token)
    }

    /// Dead letters are to be re-queued, or deleted.
    func begin(
        _ act: RejectedWork.Act, of destination: DestinationName, for token: Token, isDeletionKnown: Bool
    ) throws(CommandFailure) {
        guard rejected == nil else {
            throw CommandFailure(kind: .busy(seconds: 1), reason: "dead letters are being moved already")
        }
        if act == .requeue { try refuseBeforeDeletion(isKnown: isDeletionKnown) }
        do {
            rejected = (try hub.store.begin(act, of: destination), act, token)
        } catch {
            throw CommandFailure(reason: error.message)
        }
    }

    private func refuseBeforeDeletion(isKnown: Bool) throws(CommandFailure) {
        guard isDeleting || !isKnown else { return }
        throw CommandFailure(kind: .busy(seconds: 1), reason: "a deletion has to be completed first")
    }

    private func continueOwed() -> Answer? {
        guard deletion == nil, let (started, token) = owed else { return nil }
        var work = started
        do {
            try work.proceed(in: hub.store)
        } catch {
            owed = nil
            return Answer(token: token, result: .failure(CommandFailure(reason: error.message)))
        }
        owed = work.isFinished ? nil : (work, token)
        guard work.isFinished else { return nil }
        work.report()
        if work.isDueAtOnce, let port = hub.uploaders[work.destination] {
            outbox.deliver(.trigger(.change), to: port)
        }
        return Answer(token: token, result: .success(.count(work.done)))
    }

    private func continueRejected() -> Answer? {
        guard let (started, act, token) = rejected, deletion == nil || act == .purge else { return nil }
        var work = started
        do {
            try hub.store.proceed(with: &work)
        } catch {
            rejected = nil
            return Answer(token: token, result: .failure(CommandFailure(reason: error.message)))
        }
        rejected = work.isFinished ? nil : (work, act, token)
        guard work.isFinished else { return nil }
        // Whoever re-queues them believes that the server has been fixed: one attempt at once, in every state.
        // The same goes for room that the upload has been waiting for.
        let port = hub.uploaders[work.destination]
        let hasRoom = act == .purge && port?.snapshot.failure == .deadLettersFull
        if let port, act == .requeue || hasRoom, work.done > 0 { outbox.deliver(.trigger(.change), to: port) }
        return Answer(token: token, result: .success(.count(work.done)))
    }

    // MARK: Rows beyond the cap

    /// The cap may have been lowered.
    func noteChangedCap() { mayShrink = true }

    /// More rows are stored than a lowered cap allows.
    func mustShrink(to maxRows: Int) -> Bool {
        mayShrink && recorder.error == nil && hub.store.counts().locations > maxRows
    }

    /// Deletes some of them.
    func shrink(to maxRows: Int, now: BootInstant) {
        guard mustShrink(to: maxRows) else { return }
        do {
            // Members of batches stay, even above the cap.
            mayShrink = try hub.store.shrink()
        } catch {
            recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
                _ = try store.shrink()
            }
        }
    }
}
