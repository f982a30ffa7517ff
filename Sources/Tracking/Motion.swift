package import Base

/// Decides from fixes alone whether the vehicle is stationary or moving. Pure: no clock, no I/O, so a replay at any
/// speed gives the same result.
///
/// Doppler speed is far steadier than position: the position of a parked car jitters by twice its accuracy, its speed
/// does not.
package struct Motion: Sendable {
    /// When the vehicle counts as stationary.
    package struct Thresholds: Equatable, Sendable {
        /// Minimum radius of the parking spot, in metres; twice the accuracy of a fix when that is more.
        package var radius: Double
        /// Seconds of standing still after which the vehicle counts as stationary.
        package var duration: Double

        /// The default values match the configuration's.
        package init(radius: Double = 5, duration: Double = 120) {
            self.radius = radius
            self.duration = duration
        }

        /// Metres from the parking spot within which the fix still counts as there.
        func reach(_ fix: Fix) -> Double {
            max(radius, 2 * (fix.accuracy ?? Motion.assumedAccuracy))
        }
    }

    /// Metres; stands in for an unknown accuracy.
    package static let assumedAccuracy = 15.0
    /// Metres per second; anything slower counts as standing still.
    package static let slowSpeed = 1.0
    /// Metres per second; at this speed the vehicle is moving, wherever it is.
    package static let fastSpeed = 3.0
    /// Seconds that two fixes must be apart to establish movement.
    static let movingSpan = 1.0
    /// Seconds that two fixes without a reported speed must be apart to establish movement.
    static let movingSpanWithoutSpeed = 30.0
    /// Metres; beyond this, and beyond four times the reach, the vehicle is being towed, whatever the speed says.
    static let towedDistance = 50.0
    /// Seconds; a pause longer than this is a gap if it also exceeds three times the usual step.
    static let gap = 30.0
    /// Number of recent steps between fixes whose median is the usual step.
    static let stepsRemembered = 5

    /// A change takes effect with the next fix.
    package var thresholds: Thresholds
    /// The state after the latest fix.
    package private(set) var state: MotionState
    /// The mean position of the fixes that established the stop; nil unless stationary.
    package private(set) var spot: Coordinate?

    /// Where the first fix was, while the state is unknown.
    private var origin: Coordinate?
    private var last: Timestamp?
    private var steps: [Double] = []
    private var window = MotionWindow()
    private var streaks = Streaks()

    /// Consecutive fixes for which a condition holds.
    private struct Streak: Sendable {
        private var start: (time: Timestamp, place: Coordinate)?

        /// - Returns: seconds from the first of them to this fix; −1 when the condition does not hold.
        mutating func extend(_ holds: Bool, with fix: Fix) -> Double {
            guard holds else {
                start = nil
                return -1
            }
            let first = start ?? (fix.time, fix.coordinate)
            start = first
            return fix.time.seconds(since: first.time)
        }

        /// Metres from where the first of them was; 0 without one.
        func distance(to place: Coordinate) -> Double { start?.place.distance(to: place) ?? 0 }
    }

    /// What the latest fixes have in common, until the state changes or time runs backwards.
    private struct Streaks: Sendable {
        var brisk = Streak()
        var fast = Streak()
        var outside = Streak()
        var outsideWithSpeed = Streak()
        var far = Streak()
        var onward = Streak()
    }

    /// - Parameters:
    ///   - state: the stored state; `stationary` requires a spot.
    ///   - spot: the parking spot.
    package init(thresholds: Thresholds, state: MotionState = .unknown, spot: Coordinate? = nil) {
        self.thresholds = thresholds
        self.state = state == .stationary && spot == nil ? .unknown : state
        self.spot = self.state == .stationary ? spot : nil
    }

    /// Processes the next settled fix.
    ///
    /// - Parameter motion: what somebody says the vehicle does at this fix. Detection goes on from there: it takes as long
    ///   as ever, from this fix on, to find out that the vehicle stands or moves. nil, and `unknown`: nobody says anything.
    /// - Returns: the previous state if it has changed, else nil.
    package mutating func observe(_ fix: Fix, as motion: MotionState? = nil) -> MotionState? {
        recordStep(to: fix.time)
        let before = state
        switch motion {
        case .moving:
            move(fix)
            return state == before ? nil : before
        case .stationary:
            park(at: fix.coordinate)
            return state == before ? nil : before
        case .unknown, nil: break
        }
        switch state {
        case .stationary:
            guard let spot, hasDeparted(fix, from: spot) else { return nil }
            move(fix)
        case .unknown:
            guard hasSetOff(fix) else {
                checkStanding(fix)
                break
            }
            move(fix)
        case .moving: checkStanding(fix)
        }
        return state == before ? nil : before
    }

    /// After a gap, or when time runs backwards, it is unknown how long the vehicle has been standing still.
    private mutating func recordStep(to time: Timestamp) {
        defer { last = time }
        guard let last else { return }
        let step = time.seconds(since: last)
        guard step >= 0 else {
            window.removeAll()
            streaks = Streaks()
            origin = nil
            return
        }
        if step > Self.gap, step > 3 * usualStep { window.removeAll() }
        guard step > 0 else { return }
        steps.append(step)
        if steps.count > Self.stepsRemembered { steps.removeFirst() }
    }

    /// Seconds; 0 when no steps have been recorded.
    private var usualStep: Double {
        steps.isEmpty ? 0 : steps.sorted()[(steps.count - 1) / 2]
    }

    /// Whether a vehicle of which nothing is known moves. Where no speeds are reported it has left the place of the first fix as
    /// it would leave a parking spot, and has gone on from there: the first positions of a receiver may be far off.
    private mutating func hasSetOff(_ fix: Fix) -> Bool {
        let first = origin ?? fix.coordinate
        origin = first
        let reach = thresholds.reach(fix)
        let distance = fix.speed == nil ? first.distance(to: fix.coordinate) : 0
        // Every streak must see every fix: no short-circuit evaluation here.
        let briskSpan = streaks.brisk.extend((fix.speed ?? 0) >= Self.slowSpeed, with: fix)
        let span = streaks.outside.extend(distance > reach, with: fix)
        let farSpan = streaks.far.extend(distance > Self.farAway(reach), with: fix)
        let goesOn =
            span >= Self.movingSpanWithoutSpeed && streaks.outside.distance(to: fix.coordinate) > 2 * reach
            || farSpan >= Self.movingSpan && streaks.far.distance(to: fix.coordinate) > 2 * reach
        // A single one may be a reflection.
        return max(briskSpan, streaks.onward.extend(goesOn, with: fix)) >= Self.movingSpan
    }

    /// Metres; what is further away than that has left, whatever the speed says.
    private static func farAway(_ reach: Double) -> Double { max(4 * reach, towedDistance) }

    private mutating func hasDeparted(_ fix: Fix, from spot: Coordinate) -> Bool {
        let reach = thresholds.reach(fix)
        let distance = spot.distance(to: fix.coordinate)
        let isOutside = distance > reach && (fix.speed ?? Self.slowSpeed) >= Self.slowSpeed
        // Every streak must see every fix: no short-circuit evaluation here.
        let fastSpan = streaks.fast.extend((fix.speed ?? 0) >= Self.fastSpeed, with: fix)
        let speedSpan = streaks.outsideWithSpeed.extend(isOutside && fix.speed != nil, with: fix)
        let spanWithoutSpeed = streaks.outside.extend(isOutside, with: fix)
        let farSpan = streaks.far.extend(distance > Self.farAway(reach), with: fix)
        return max(fastSpan, speedSpan, farSpan) >= Self.movingSpan
            || spanWithoutSpeed >= Self.movingSpanWithoutSpeed
    }

    private mutating func move(_ fix: Fix) {
        state = .moving
        spot = nil
        origin = nil
        streaks = Streaks()
        // Earlier fixes do not count towards the next stop.
        window.removeAll()
        window.append(fix, duration: thresholds.duration)
    }

    private mutating func checkStanding(_ fix: Fix) {
        window.append(fix, duration: thresholds.duration)
        guard let mean = window.standingPosition(thresholds) else { return }
        park(at: mean)
    }

    private mutating func park(at place: Coordinate) {
        state = .stationary
        spot = place
        origin = nil
        window.removeAll()
        streaks = Streaks()
    }
}
