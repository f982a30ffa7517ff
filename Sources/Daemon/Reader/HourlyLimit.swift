internal import Base

/// Lets one log line of a kind through per hour.
struct HourlyLimit {
    /// Seconds.
    private static let interval = 3600.0

    private var latest: BootInstant?

    /// Whether the line may be written now. If so, it counts as written.
    mutating func admits(_ now: BootInstant) -> Bool {
        if let latest, now.seconds(since: latest) < Self.interval { return false }
        latest = now
        return true
    }
}
