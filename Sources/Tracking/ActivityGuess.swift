internal import Base

/// Guesses the kind of movement from the speeds of the last 30 s. Pure: depends only on the fixes and their times.
///
/// The measure is the 90th percentile of the reported speeds, so that neither a single spike nor a short wait counts.
/// Below 0.5 m/s it is `stationary`, below 2.2 `walking`, below 4.5 `running`, below 9 `cycling`, else `automotive`.
/// There is hysteresis in value and in time: a limit must be exceeded by 15 % to leave the current activity, and a
/// new activity takes effect once the window has suggested it for 10 s without interruption. Initially it is
/// `unknown`.
struct ActivityGuess: Sendable {
    /// Length of the window, in seconds.
    static let window = 30.0
    /// Seconds for which a new activity must be suggested before it takes effect.
    static let dwell = 10.0
    /// Fraction of a limit by which it must be exceeded to leave the current activity.
    static let margin = 0.15
    /// Upper limits of all activities but the last, in metres per second.
    static let limits = [0.5, 2.2, 4.5, 9.0]
    /// In ascending order of speed.
    static let activities: [Activity] = [.stationary, .walking, .running, .cycling, .automotive]
    /// Upper bound on the speeds kept: 30 s at ten fixes a second are 300.
    private static let limit = 512

    private(set) var current = Activity.unknown
    private var speeds: [(time: Timestamp, speed: Double)] = []
    private var candidate: (activity: Activity, since: Timestamp)?

    /// Processes the next settled fix.
    ///
    /// - Returns: nil when the fix reports no speed.
    mutating func observe(_ fix: Fix) -> Activity? {
        guard let speed = fix.speed else { return nil }
        if let last = speeds.last, fix.time < last.time {
            // When time runs backwards, the age of the earlier speeds is unknown.
            speeds = []
            candidate = nil
        }
        let expired = speeds.prefix { fix.time.seconds(since: $0.time) > Self.window }.count
        speeds.removeFirst(max(expired, speeds.count + 1 - Self.limit))
        speeds.append((fix.time, speed))
        let suggested = activity(ofSpeed: measure)
        if candidate?.activity != suggested { candidate = (suggested, fix.time) }
        if let candidate, fix.time.seconds(since: candidate.since) >= Self.dwell { current = suggested }
        return current
    }

    private var measure: Double {
        let sorted = speeds.map(\.speed).sorted()
        return sorted[(sorted.count * 9 - 1) / 10]
    }

    private func activity(ofSpeed speed: Double) -> Activity {
        let present = Self.activities.firstIndex(of: current)
        let passed = Self.limits.indices.count { index in
            guard let present else { return speed >= Self.limits[index] }
            return speed >= Self.limits[index] * (index < present ? 1 - Self.margin : 1 + Self.margin)
        }
        return Self.activities[passed]
    }
}
