internal import Storage
internal import Tracking

/// Decides when a loss is told: at once when it begins, then once an hour with what has come since. Ordinary pruning, which
/// is no loss, once a day. Pure: no clock, no log.
struct LossWatch {
    /// What there is to say, with the number of rows.
    enum Line: Equatable {
        case lost(dropped: Int, refused: Int)
        case pruned(Int)
    }

    /// Seconds between two lines, and for which the status tells of a loss.
    static let interval = 3600.0
    private static let pruningInterval = 86_400.0

    /// When something was lost last.
    private(set) var latest: BootInstant?
    private var untold = Losses()
    private var toldAt: BootInstant?
    private var toldPruningAt: BootInstant?

    /// - Parameter lost: since the last look.
    mutating func look(_ lost: Losses, now: BootInstant) -> [Line] {
        guard lost != Losses() || untold != Losses() else { return [] }
        untold = untold + lost
        if lost.dropped + lost.refused + lost.expired > 0 { latest = now }
        // Whoever lets them expire says so, with the batch.
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

    /// When the rest of a loss is to be told, though nothing more is lost.
    var deadline: BootInstant? {
        isUntold ? toldAt?.advanced(bySeconds: Self.interval) : nil
    }

    /// What the end of the daemon would keep from being told.
    var rest: Line? {
        isUntold ? .lost(dropped: untold.dropped, refused: untold.refused) : nil
    }

    private var isUntold: Bool { untold.dropped + untold.refused > 0 }

    private func isDue(_ last: BootInstant?, _ interval: Double, _ now: BootInstant) -> Bool {
        last.map { now.seconds(since: $0) >= interval } ?? true
    }
}
