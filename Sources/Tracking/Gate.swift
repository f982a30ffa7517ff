package import Base

/// Decides which fixes become locations. Pure: no clock, no I/O, so a replay at any speed gives the same result.
///
/// A fix passes when both the interval *and* the distance since the last admitted fix have been reached. The first
/// fix of a session always passes.
package struct Gate: Sendable {
    /// What a fix must reach to be admitted.
    package struct Thresholds: Equatable, Sendable {
        /// Seconds of fix time; 0 disables the criterion.
        package var interval: Double
        /// Metres; 0 disables the criterion.
        package var distance: Double
        /// Degrees of turn that admit a fix regardless of interval and distance; 0 disables the criterion.
        package var angle: Double

        /// Turns admit nothing unless an angle is given.
        package init(interval: Double, distance: Double, angle: Double = 0) {
            self.interval = interval
            self.distance = distance
            self.angle = angle
        }
    }

    package enum Reason: Equatable, Sendable {
        case tooSoon, tooNear
        /// The vehicle is stationary.
        case paused
    }

    package enum Verdict: Equatable, Sendable { case admit(Trigger), drop(Reason) }

    /// The last admitted fix, as far as the gate needs it.
    package struct Reference: Equatable, Sendable {
        /// Fix time.
        package var time: Timestamp
        package var coordinate: Coordinate
        /// Direction of travel in degrees; nil when the receiver reported none.
        package var bearing: Double?

        package init(time: Timestamp, coordinate: Coordinate, bearing: Double?) {
            self.time = time
            self.coordinate = coordinate
            self.bearing = bearing
        }
    }

    /// Seconds. Receivers jitter: an epoch that arrives up to this much early still completes an interval.
    package static let intervalTolerance = 0.050
    /// Metres per second. Below this speed the course is noise, and turns admit nothing.
    package static let turningSpeed = 2.0

    /// A change takes effect with the next fix.
    package var thresholds: Thresholds
    /// nil until a fix has been admitted.
    package private(set) var last: Reference?
    /// The next fix passes: it is the first of a new run of instants, and cannot be compared with `last`.
    private var isArmed = false

    /// - Parameter last: the last admitted fix when a session resumes; nil at the start of a session.
    package init(thresholds: Thresholds, last: Reference? = nil) {
        self.thresholds = thresholds
        self.last = last
    }

    /// Judges a fix without recording it: `admitted` does that, so that every kind of admission resets the gate
    /// alike.
    package func decide(_ fix: Fix) -> Verdict {
        guard let last, !isArmed else { return .admit(.interval) }
        let elapsed = fix.time.seconds(since: last.time)
        if turned(fix, since: last) { return .admit(.interval) }
        if thresholds.interval > 0, elapsed < thresholds.interval - Self.intervalTolerance {
            return .drop(.tooSoon)
        }
        if thresholds.distance > 0, last.coordinate.distance(to: fix.coordinate) < thresholds.distance {
            return .drop(.tooNear)
        }
        return .admit(.interval)
    }

    /// Seconds of fix time since the last admitted fix; nil when the two cannot be compared.
    func silence(before fix: Fix) -> Double? { isArmed ? nil : last.map { fix.time.seconds(since: $0.time) } }

    /// Time has stepped back, and settled: a clock that was once ahead would otherwise block the gate for years.
    package mutating func rearm() { isArmed = true }

    /// Records an admitted fix, whichever rule admitted it.
    package mutating func admitted(_ fix: Fix) {
        isArmed = false
        last = Reference(time: fix.time, coordinate: fix.coordinate, bearing: fix.bearing)
    }

    private func turned(_ fix: Fix, since last: Reference) -> Bool {
        guard thresholds.angle > 0, let speed = fix.speed, speed >= Self.turningSpeed,
            let bearing = fix.bearing, let before = last.bearing
        else { return false }
        return angle(between: bearing, and: before) >= thresholds.angle
    }
}

/// The smaller angle between two bearings, 0…180 degrees.
func angle(between first: Double, and second: Double) -> Double {
    let difference = abs(first - second).truncatingRemainder(dividingBy: 360)
    return difference > 180 ? 360 - difference : difference
}
