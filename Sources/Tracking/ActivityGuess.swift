/// What kind of movement the speeds of the last 30 s suggest. Pure: a function of the fixes and their times.
///
/// The measure is the speed that nine tenths of the reported ones do not exceed: one spike does not count, and neither does
/// a short wait. Below 0.5 m/s it is `stationary`, below 2.2 `walking`, below 4.5 `running`, below 9 `cycling`, else
/// `automotive`. Hysteresis, twice: a limit must be passed by 15 % to leave the present activity, and a new one counts
/// once the window has told it for 10 s without a break. Until then, at the beginning, it is `unknown`.
struct ActivityGuess: Sendable {
    /// Seconds of speeds looked at.
    static let window = 30.0
    /// Seconds that a new activity must be told for.
    static let dwell = 10.0
    /// Part of a limit by which it must be passed to leave the present activity.
    static let margin = 0.15
    /// Metres per second: below the first it is the first activity, and so on.
    static let limits = [0.5, 2.2, 4.5, 9.0]
    /// In the order of the speeds.
    static let activities: [Activity] = [.stationary, .walking, .running, .cycling, .automotive]
    /// Speeds kept at most: 30 s at ten fixes a second are 300.
    private static let limit = 512

    private(set) var current = Activity.unknown
    private var speeds: [(time: Timestamp, speed: Double)] = []
    private var candidate: (activity: Activity, since: Timestamp)?

    /// Takes the next settled fix.
    ///
    /// - Returns: nil when it reports no speed.
    mutating func observe(_ fix: Fix) -> Activity? {
        guard let speed = fix.speed else { return nil }
        if let last = speeds.last, fix.time < last.time {
            // Time that runs backwards says nothing about how long ago the others were.
            speeds = []
            candidate = nil
        }
        let expired = speeds.prefix { fix.time.seconds(since: $0.time) > Self.window }.count
        speeds.removeFirst(max(expired, speeds.count + 1 - Self.limit))
        speeds.append((fix.time, speed))
        let told = activity(ofSpeed: measure)
        if candidate?.activity != told { candidate = (told, fix.time) }
        if let candidate, fix.time.seconds(since: candidate.since) >= Self.dwell { current = told }
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
