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
        if let due = losses.look(lost, now: now) { report(due) }
    }

    func report(_ lost: Losses) {
        var reasons: [String] = []
        if lost.dropped > 0 {
            reasons.append(
                "\(lost.dropped) locations or events that no backend has received were deleted, the oldest first, to keep "
                    + "to the cap (store.max_rows = \(settings.store.maxRows)): "
                    + (settings.sync == nil ? "raise it to keep more" : "bring the upload back, or raise it"))
        }
        if lost.pruned > 0 {
            reasons.append(
                "\(lost.pruned) locations or events that no backend has received were deleted, being older than "
                    + "\(days(settings.store.retentionDays)) (store.retention_days), because no upload is configured: raise "
                    + "it to keep them longer")
        }
        if lost.refused > 0 {
            reasons.append(
                "\(lost.refused) fixes were refused, because storage fails and memory is full: fix the disk")
        }
        Log.warning(
            .rowsDropped, "lost: " + reasons.joined(separator: "; "),
            [(.count, "\(lost.dropped + lost.pruned + lost.refused)")])
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
