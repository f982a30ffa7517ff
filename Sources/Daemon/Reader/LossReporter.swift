internal import Base
internal import DaemonConfiguration
internal import Storage

/// Logs which rows are lost by rule, or because storage fails.
///
/// Confined to the reader's thread.
final class LossReporter {
    private var watch = LossWatch()
    /// The number of refused fixes already reported.
    private var reportedRefused = 0

    /// When rows were last lost.
    var latest: BootInstant? { watch.latest }
    /// When the rest of a loss is due to be reported.
    var deadline: BootInstant? { watch.deadline }

    /// Reports rows that are gone, whichever thread has removed them.
    ///
    /// - Parameters:
    ///   - lost: since the last call.
    ///   - refused: fixes refused since the start. They are reported when they are refused, not when storage works
    ///     again and they can be counted there.
    ///   - limits: what rows are deleted by.
    func report(
        _ lost: Losses, refused: Int, limits: Settings.Store, uploads: Bool, now: BootInstant
    ) {
        var lost = lost
        lost.refused = refused - reportedRefused
        reportedRefused = refused
        if let due = watch.observe(lost, now: now) { Self.log(due, limits, uploads) }
    }

    /// Reports what would otherwise go unreported at the end of the daemon.
    func reportRest(limits: Settings.Store, uploads: Bool) {
        if let rest = watch.rest { Self.log(rest, limits, uploads) }
    }

    private static func log(_ lost: Losses, _ limits: Settings.Store, _ uploads: Bool) {
        var reasons: [String] = []
        if lost.dropped > 0 {
            reasons.append(
                "\(lost.dropped) locations or events that no backend has received were deleted, the oldest first, to keep "
                    + "to the cap (store.max_rows = \(limits.maxRows)): "
                    + (uploads ? "bring the upload back, or raise it" : "raise it to keep more"))
        }
        if lost.pruned > 0 {
            reasons.append(
                "\(lost.pruned) locations or events that no backend has received were deleted, being older than "
                    + rule(limits, uploads) + ": raise it to keep them longer")
        }
        if lost.refused > 0 {
            reasons.append(
                "\(lost.refused) fixes were refused, because storage fails and memory is full: fix the disk")
        }
        Log.warning(
            .rowsDropped, "lost: " + reasons.joined(separator: "; "),
            [(.count, "\(lost.dropped + lost.pruned + lost.refused)")])
    }

    /// Which age it was; where both count, the lower one takes most.
    private static func rule(_ limits: Settings.Store, _ uploads: Bool) -> String {
        if limits.unsentDays > 0, uploads || limits.unsentDays < limits.retentionDays {
            return days(limits.unsentDays) + " (store.unsent_days)"
        }
        return days(limits.retentionDays) + " (store.retention_days), because no upload is configured"
    }

    private static func days(_ count: Double) -> String {
        count == 1 ? "a day" : "\(count == count.rounded() ? "\(Int(count))" : "\(count)") days"
    }
}
