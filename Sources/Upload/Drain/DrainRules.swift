/// What an operator can decide about when a destination is tried.
package struct DrainRules: Equatable, Sendable {
    /// Seconds between two scheduled drains.
    package var interval: Double
    /// Only the user starts a drain: no other trigger does, nor the schedule, nor a retry.
    package var isManual: Bool
    /// A geofence event during back-off makes an early attempt.
    package var retriesForGeofences: Bool
    /// Only what is newest counts: each failure is followed by back-off, also one that waiting alone will not mend, because
    /// the interval may be too short to knock at a closed door.
    package var isLatestOnly: Bool
    /// Seconds between the latest request and a heartbeat; 0 is off.
    package var heartbeat: Double

    /// The default values are those of the configuration.
    package init(
        interval: Double, isManual: Bool = false, retriesForGeofences: Bool = false,
        isLatestOnly: Bool = false, heartbeat: Double = 0
    ) {
        self.interval = interval
        self.isManual = isManual
        self.retriesForGeofences = retriesForGeofences
        self.isLatestOnly = isLatestOnly
        self.heartbeat = heartbeat
    }
}
