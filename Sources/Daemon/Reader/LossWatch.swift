internal import Base
internal import Storage

/// Decides when losses are reported: at once when they begin, then once an hour with what has been added since, also
/// when the rule that takes the rows is the ordinary one of retention. Pure: no clock, no log.
struct LossWatch {
    /// Seconds between two reports, and how long the status shows a loss.
    static let interval = 3600.0

    /// When rows were last lost.
    private(set) var latest: BootInstant?
    private var unreported = Losses()
    private var reportedAt: BootInstant?

    /// - Parameter lost: since the last call.
    /// - Returns: what is to be reported now, if anything.
    mutating func observe(_ lost: Losses, now: BootInstant) -> Losses? {
        if lost != Losses() { latest = now }
        unreported = unreported + lost
        // Expiry is logged where it happens, with the batch.
        unreported.expired = 0
        if let reportedAt, now.seconds(since: reportedAt) < Self.interval { return nil }
        guard let due = rest else { return nil }
        reportedAt = now
        unreported = Losses()
        return due
    }

    /// When the rest of a loss is due to be reported, even if nothing more is lost.
    var deadline: BootInstant? {
        rest == nil ? nil : reportedAt?.advanced(bySeconds: Self.interval)
    }

    /// What would otherwise go unreported at the end of the daemon.
    var rest: Losses? {
        unreported == Losses() ? nil : unreported
    }
}
