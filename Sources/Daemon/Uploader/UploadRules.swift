internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Upload

// What a destination's table says about when, in which order and in which requests it gets what.

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
    /// Whether the destination gets the newest location alone, and has no queue.
    var isLatestOnly: Bool { deliver == .latest }

    /// Which of the pending rows its next batch holds.
    var order: BatchOrder { format.order == .newest ? .newest : .oldest }
}

extension Settings.Vehicle {
    /// The vehicle says something of itself, or somebody has asked for its odometer: formats of other
    /// clients' servers, which have a field for it, tell that as well.
    var tellsOdometer: Bool { ignition != .none || !supply.isEmpty || events.contains(.odometer) }
}

extension Settings {
    /// Whether some destination gets the newest location alone.
    var hasLatestOnly: Bool { allDestinations.contains(where: \.sync.isLatestOnly) }
}

extension Settings.Sync {
    /// Without the settings that say nothing about a request under way.
    var request: Settings.Sync {
        var sync = self
        sync.intervalSeconds = 0
        sync.syncThreshold = 0
        sync.onReject = .drop
        sync.triggers = Settings.Triggers()
        sync.heartbeatSeconds = 0
        sync.commands = nil
        return sync
    }

    /// Differs whenever the url, the batch size, or what else may have been refused does, as far as the destination's own table
    /// says it.
    var fingerprint: Int64 { identity.fingerprint }

    /// The fingerprint, with everything that may have been refused.
    ///
    /// - Parameter tellsOdometer: see ``Settings/Vehicle/tellsOdometer``. Either way it adds something: what a version wrote
    ///   that did not know of it is told from both.
    func fingerprint(tellsOdometer: Bool) -> Int64 {
        guard format.name.traits.hasOdometer else { return fingerprint }
        return (identity + (tellsOdometer ? " odometer" : " no odometer")).fingerprint
    }

    private var identity: String { "\(batchSize) \(url)\(format.identity)" }
}

extension Settings.Format {
    /// Differs whenever batches that are frozen would have to be made anew; 0 for `beekon`.
    var fingerprint: Int64 {
        if case .beekon = self { return 0 }
        return "\(name.rawValue) \(deviceID ?? "")".fingerprint
    }
}

extension String {
    /// FNV-1a, which is the same in every run.
    var fingerprint: Int64 {
        let hash = utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}
