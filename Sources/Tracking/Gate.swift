/// Decides which fixes become locations. Pure: no clock, no I/O; a replay at any speed decides the same.
///
/// A fix passes when the interval *and* the distance since the last admitted fix have been reached. The first one of a
/// session always passes.
public struct Gate: Sendable {
    /// What a fix must reach to pass.
    public struct Thresholds: Equatable, Sendable {
        /// Seconds of fix time; 0 switches this side off.
        public var interval: Double
        /// Metres; 0 switches this side off.
        public var distance: Double
        /// Degrees of turn that admit as well; 0 switches this off.
        public var angle: Double

        /// The angle may be left out: turns then admit nothing.
        public init(interval: Double, distance: Double, angle: Double = 0) {
            self.interval = interval
            self.distance = distance
            self.angle = angle
        }
    }

    /// Why a fix was dropped.
    public enum Reason: Equatable, Sendable {
        case tooSoon, tooNear
        /// The vehicle stands.
        case paused
    }

    /// What becomes of a fix.
    public enum Verdict: Equatable, Sendable { case admit(Trigger), drop(Reason) }

    /// What the gate remembers of the last admitted fix.
    public struct Reference: Equatable, Sendable {
        /// Its fix time.
        public var time: Timestamp
        /// Its position.
        public var coordinate: Coordinate
        /// Its direction of travel; nil when the receiver reported none.
        public var bearing: Double?

        /// Made anew, or from what the store remembers.
        public init(time: Timestamp, coordinate: Coordinate, bearing: Double?) {
            self.time = time
            self.coordinate = coordinate
            self.bearing = bearing
        }
    }

    /// Receivers jitter: an epoch that comes up to this much early still counts as a whole interval.
    public static let intervalTolerance = 0.050
    /// Below this speed a course is noise and turns admit nothing. Metres per second.
    public static let turningSpeed = 2.0

    /// A change applies to the next fix.
    public var thresholds: Thresholds
    /// nil until a fix has been admitted, and after `rearm`.
    public private(set) var last: Reference?

    /// - Parameter last: the last admitted fix of the session that goes on; nil at the start of a session.
    public init(thresholds: Thresholds, last: Reference? = nil) {
        self.thresholds = thresholds
        self.last = last
    }

    /// Judges a fix. It does not remember it: `admitted` does, so that every way into the store resets the gate alike.
    public func decide(_ fix: Fix) -> Verdict {
        guard let last else { return .admit(.interval) }
        let elapsed = fix.time.seconds(since: last.time)
        // Time that runs backwards re-arms the gate: otherwise a clock that was once ahead would block it for years.
        guard elapsed >= 0 else { return .admit(.interval) }
        if turned(fix, since: last) { return .admit(.interval) }
        if thresholds.interval > 0, elapsed < thresholds.interval - Self.intervalTolerance {
            return .drop(.tooSoon)
        }
        if thresholds.distance > 0, last.coordinate.distance(to: fix.coordinate) < thresholds.distance {
            return .drop(.tooNear)
        }
        return .admit(.interval)
    }

    /// Remembers a fix that was admitted, by whichever rule.
    public mutating func admitted(_ fix: Fix) {
        last = Reference(time: fix.time, coordinate: fix.coordinate, bearing: fix.bearing)
    }

    private func turned(_ fix: Fix, since last: Reference) -> Bool {
        guard thresholds.angle > 0, let speed = fix.speed, speed >= Self.turningSpeed,
            let bearing = fix.bearing, let before = last.bearing
        else { return false }
        return angle(between: bearing, and: before) >= thresholds.angle
    }
}
