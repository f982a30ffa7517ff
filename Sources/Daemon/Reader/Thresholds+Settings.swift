internal import DaemonConfiguration
internal import Tracking

extension Trips.Thresholds {
    init(_ settings: Settings) {
        self.init(
            gap: settings.vehicle.tripGapSeconds,
            stationaryAfter: settings.tracking.stationaryAfterSeconds,
            fastest: settings.tracking.implausibleSpeedMps)
    }
}

extension Admission.Thresholds {
    /// Seconds between two locations of a vehicle that its server hears of by nothing else.
    private static let day = 86_400.0

    init(_ all: Settings) {
        let settings = all.tracking
        let whileStationary: Admission.WhileStationary =
            switch settings.stationaryMode {
            case .pause: .nothing
            case .pauseWithCheckIns: .checkIns(every: settings.checkInIntervalSeconds)
            case .keepTracking: .gate
            }
        self.init(
            gate: Gate.Thresholds(
                interval: settings.intervalSeconds, distance: settings.distanceMeters,
                angle: settings.angleDegrees),
            motion: Motion.Thresholds(
                radius: settings.stationaryRadiusMeters, duration: settings.stationaryAfterSeconds),
            whileStationary: whileStationary, detectsActivity: settings.detectActivity,
            quality: QualityLimits(
                accuracy: settings.lowAccuracyMeters, speed: settings.implausibleSpeedMps),
            longestSilence: all.owesDailyLocation ? Self.day : nil)
    }
}
