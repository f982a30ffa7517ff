internal import Base
internal import Configuration
internal import Storage

/// Rows lost by rule, and the cap to which rows may be lost.
extension Reader {
    /// Reports rows that are gone, whichever thread has removed them.
    func tellLosses(now: BootInstant) {
        var lost = hub.store.takeLosses()
        // Reported when they are refused, not when storage works again and they can be counted there.
        lost.refused = recorder.refused - toldRefused
        toldRefused = recorder.refused
        for line in losses.look(lost, now: now) { report(line) }
    }

    func report(_ line: LossWatch.Line) {
        switch line {
        case .lost(let dropped, let refused):
            var reasons: [String] = []
            if dropped > 0 {
                reasons.append(
                    "\(dropped) locations or events that no backend has received were deleted, the oldest first, to keep "
                        + "to the cap (store.max_rows = \(settings.store.maxRows)): "
                        + (settings.sync == nil
                            ? "raise it to keep more" : "bring the upload back, or raise it"))
            }
            if refused > 0 {
                reasons.append(
                    "\(refused) fixes were refused, because storage fails and memory is full: fix the disk")
            }
            Log.warning(
                .rowsDropped, "lost: " + reasons.joined(separator: "; "), [(.count, "\(dropped + refused)")])
        case .pruned(let count):
            Log.notice(
                .rowsPruned,
                "\(count) locations or events older than \(days(settings.store.retentionDays)) have been deleted "
                    + "(store.retention_days); no upload is configured",
                [(.count, "\(count)")])
        }
    }

    private func days(_ count: Double) -> String {
        count == 1 ? "a day" : "\(count == count.rounded() ? "\(Int(count))" : "\(count)") days"
    }

    /// More rows are stored than a lowered cap allows. They are deleted in steps between two fixes, which wait for
    /// none.
    var mustShrink: Bool {
        mayShrink && recorder.error == nil && hub.store.counts().locations > settings.store.maxRows
    }

    func proceedWithShrinking(now: BootInstant) {
        guard mustShrink else { return }
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
