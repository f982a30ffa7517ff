internal import Base
internal import Configuration
internal import Linux
internal import Storage
internal import Tracking

/// Deletions requested by the user: one step between two fixes, so that a large one delays none. One that is
/// interrupted by the end of the daemon is completed at its next start.
extension Reader {
    func delete(before cutoff: Timestamp?, _ token: Token, now: BootInstant) {
        guard deletion == nil else {
            let busy = Failure(kind: .busy(seconds: 1), reason: "another deletion is in progress")
            return hub.complete(token, .failure(busy))
        }
        // Rows waiting in memory are stored first; otherwise they would be written after the deletion.
        flush(now: now)
        if recorder.waiting > 0, let error = recorder.error { return fail(error, token) }
        do {
            deletion = (try hub.store.beginDeletion(before: cutoff), token)
        } catch {
            return fail(error, token)
        }
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

    func proceedWithDeletion() {
        guard let (started, token) = deletion else { return }
        var work = started
        let dissolved = work.dissolved.count
        do {
            try hub.store.proceed(with: &work)
        } catch {
            deletion = nil
            return fail(error, token)
        }
        if work.dissolved.count > dissolved {
            hub.post(toUploader: .abort(Array(work.dissolved[dissolved...])))
        }
        deletion = work.isFinished ? nil : (work, token)
        guard work.isFinished else { return }
        if !work.kept.isEmpty {
            Log.warning(
                .erased,
                "deleted up to the time that was given, but nothing can be cut out of these, which may hold positions from "
                    + "before: \(Configurator.list(work.kept)). Delete such files by hand, or delete everything"
            )
        }
        if let token {
            hub.complete(token, .success(.removal(removed: work.removed, kept: work.kept)))
        }
    }

    private func fail(_ error: StorageError, _ token: Token?) {
        let reason = error.message + "; the rest is deleted at the next start, or by the next delete"
        Log.error(.erased, "a deletion was not completed: \(reason)")
        if let token { hub.complete(token, .failure(Failure(reason: reason))) }
    }
}
