internal import Base
internal import Storage

/// Decides when a loss is reported: at once when it begins, then once an hour with what has been added since.
/// Ordinary pruning, which is no loss, is reported once a day. Pure: no clock, no log.
struct LossWatch {
    /// What to report, with the number of rows.
    enum Line: Equatable {
        case lost(dropped: Int, refused: Int)
        case pruned(Int)
    }

    /// Seconds between two reports, and how long the status shows a loss.
    static let interval = 3600.0
    private static let pruningInterval = 86_400.0

    /// When rows were last lost.
    private(set) var latest: BootInstant?
    private var untold = Losses()
    private var toldAt: BootInstant?
    private var toldPruningAt: BootInstant?

    /// - Parameter lost: since the last call.
    mutating func look(_ lost: Losses, now: BootInstant) -> [Line] {
        guard lost != Losses() || untold != Losses() else { return [] }
        untold = untold + lost
        if lost.dropped + lost.refused + lost.expired > 0 { latest = now }
        // Expiry is logged where it happens, with the batch.
        untold.expired = 0
        var lines: [Line] = []
        if isUntold, isDue(toldAt, Self.interval, now) {
            lines.append(.lost(dropped: untold.dropped, refused: untold.refused))
            toldAt = now
            (untold.dropped, untold.refused) = (0, 0)
        }
        if untold.pruned > 0, isDue(toldPruningAt, Self.pruningInterval, now) {
            lines.append(.pruned(untold.pruned))
            toldPruningAt = now
            untold.pruned = 0
        }
        return lines
    }

    /// When the rest of a loss is due to be reported, even if nothing more is lost.
    var deadline: BootInstant? {
        isUntold ? toldAt?.advanced(bySeconds: Self.interval) : nil
    }

    /// What would otherwise go unreported at the end of the daemon.
    var rest: Line? {
        isUntold ? .lost(dropped: untold.dropped, refused: untold.refused) : nil
    }

    private var isUntold: Bool { untold.dropped + untold.refused > 0 }

    private func isDue(_ last: BootInstant?, _ interval: Double, _ now: BootInstant) -> Bool {
        last.map { now.seconds(since: $0) >= interval } ?? true
    }
}
