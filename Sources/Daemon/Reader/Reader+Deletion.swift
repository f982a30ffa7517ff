internal import Base
internal import Configuration
internal import Linux
internal import Storage
internal import Tracking

/// A deletion, carried out in steps between fixes.
struct DeletionUnderWay {
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

/// Deletions requested by the user: one step between two fixes, so that a large one delays none. One that fails is
/// tried again; one that is interrupted by the end of the daemon is completed at its next start.
extension Reader {
    func delete(before cutoff: Timestamp?, _ token: Token, now: BootInstant) {
        guard deletion.map({ $0.retryAt != nil }) ?? true else {
            let busy = Failure(kind: .busy(seconds: 1), reason: "another deletion is in progress")
            return hub.complete(token, .failure(busy))
        }
        // What can be stored is deleted like everything else, and the rest below.
        flush(now: now)
        do {
            deletion = DeletionUnderWay(work: try hub.store.beginDeletion(before: cutoff), token: token)
        } catch {
            let reason = error.message + "; nothing was deleted: try again once storage works"
            Log.error(.erased, "a deletion could not be begun: \(reason)")
            return hub.complete(token, .failure(Failure(reason: reason)))
        }
        // Rows that wait in memory for a slow or faulty disk would otherwise be written after the deletion.
        deletion?.work.add(discarded: recorder.discard(upTo: cutoff))
        forgetPositions()
    }

    /// Otherwise rows in memory would be written, or reported, again.
    private func forgetPositions() {
        oneShots.forgetLatest(upTo: deletion?.work.cutoff)
        guard lastLocation == nil || isDoomed(lastLocation?.fix.time) else { return }
        lastLocation = nil
        admission = Admission(
            thresholds: Admission.Thresholds(settings.tracking), odometer: admission.odometer)
    }

    /// Whether the deletion in progress covers this time.
    func isDoomed(_ time: Timestamp?) -> Bool {
        guard let time, let deletion else { return false }
        return deletion.work.cutoff.map { time <= $0 } ?? true
    }

    /// Something is to be done before the next fix.
    var hasSteps: Bool {
        if let deletion { return deletion.retryAt == nil || rejectedWork?.act == .purge }
        return rejectedWork != nil || resend != nil
    }

    func proceedWithDeletion(now: BootInstant) {
        guard var current = deletion, current.retryAt.map({ $0 <= now }) ?? true else { return }
        let dissolved = current.work.dissolved.count
        do {
            if current.retryAt != nil {
                // Storage has failed meanwhile, so the database may be another one.
                guard let work = try hub.store.unfinishedDeletion() else { return deletion = nil }
                current.work = work
                current.retryAt = nil
            }
            try hub.store.proceed(with: &current.work)
        } catch {
            return retry(current, after: error, now: now)
        }
        if current.work.dissolved.count > dissolved {
            hub.post(toUploader: .abort(Array(current.work.dissolved[dissolved...])))
        }
        deletion = current.work.isFinished ? nil : current
        if current.work.isFinished { tell(current) }
    }

    private func tell(_ done: DeletionUnderWay) {
        if done.failure != nil { Log.notice(.erased, "the deletion that failed before is completed") }
        if !done.work.kept.isEmpty {
            Log.warning(
                .erased,
                "deleted up to the time that was given, but nothing can be cut out of these, which may hold positions from "
                    + "before: \(Configurator.list(done.work.kept)). Delete such files by hand, or delete everything"
            )
        }
        if let token = done.token {
            hub.complete(token, .success(.removal(removed: done.work.removed, kept: done.work.kept)))
        }
    }

    private func retry(_ failed: DeletionUnderWay, after error: StorageError, now: BootInstant) {
        var next = failed
        next.retryAt = now.advanced(bySeconds: next.backOff.next(using: &random))
        next.token = nil
        let reason = error.message + "; the rest is tried again until it is deleted, also after a restart"
        if failed.failure != error.message { Log.error(.erased, "a deletion was not completed: \(reason)") }
        next.failure = error.message
        deletion = next
        if let token = failed.token {
            hub.complete(token, .failure(Failure(reason: reason)))
        }
    }
}
