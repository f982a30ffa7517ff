internal import DaemonConfiguration
internal import Storage
internal import Upload

// What a destination's table says about when and in which order it gets what.

extension DrainRules {
    /// Seconds between uploads while there is nowhere to upload to.
    private static let idleInterval = 300.0

    /// nil: there is no url.
    init(_ sync: Settings.Sync?) {
        self.init(
            interval: sync?.intervalSeconds ?? Self.idleInterval, isManual: sync?.triggers.mode == .manual,
            retriesForGeofences: sync?.triggers.geofenceRetry ?? false,
            isLatestOnly: sync?.isLatestOnly ?? false, heartbeat: sync?.heartbeatSeconds ?? 0)
    }
}

extension Settings.Sync {
    /// Nothing is queued for it: it gets the newest location.
    var isLatestOnly: Bool { deliver == .latest }

    /// Which of the pending rows its next batch holds.
    var order: BatchOrder { format.order == .newest ? .newest : .oldest }
}

extension Settings {
    /// Some destination gets only the newest location.
    var hasLatestOnly: Bool { allDestinations.contains(where: \.sync.isLatestOnly) }
}
