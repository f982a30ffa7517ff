/// Decides from fixes alone whether the vehicle stands or moves. Pure: no clock, no I/O; a replay at any speed decides the
/// same.
///
/// Doppler speed is far steadier than position: a parked car's position wanders by twice its accuracy, its speed does not.
public struct Motion: Sendable {
    /// What standing means.
    public struct Thresholds: Equatable, Sendable {
        /// Metres around the parking spot, at least; twice the accuracy of a fix when that is more.
        public var radius: Double
        /// Seconds of standing that make it stationary.
        public var duration: Double

        /// The defaults are those of the configuration.
        public init(radius: Double = 5, duration: Double = 120) {
            self.radius = radius
            self.duration = duration
        }

        /// Metres from the parking spot at which a fix still counts as there.
        func reach(_ fix: Fix) -> Double {
            max(radius, 2 * (fix.accuracy ?? Motion.assumedAccuracy))
        }
    }

    /// Metres; what an unknown accuracy counts as.
    public static let assumedAccuracy = 15.0
    /// Metres per second; less is standing.
    public static let slowSpeed = 1.0
    /// Metres per second; this much is driving, wherever.
    public static let fastSpeed = 3.0
    /// Seconds that two fixes must be apart to tell that it moves.
    static let movingSpan = 1.0
    /// The same for fixes that report no speed.
    static let movingSpanWithoutSpeed = 30.0
    /// Metres; beyond this, and four times the reach, it is being moved whatever the speed says.
    static let towedDistance = 50.0
    /// Seconds; a pause that is also three times the usual step is a gap.
    static let gap = 30.0
    /// Steps between fixes that tell the usual one: their median.
    static let stepsRemembered = 5

    /// A change applies to the next fix.
    public var thresholds: Thresholds
    /// As far as the fixes up to now tell.
    public private(set) var state: MotionState
    /// The mean position of the fixes that established stationary; nil unless it is.
    public private(set) var spot: Coordinate?

    private var last: Timestamp?
    private var steps: [Double] = []
    private var window = MotionWindow()
    private var brisk = Streak()
    private var fast = Streak()
    private var outside = Streak()
    private var outsideWithSpeed = Streak()
    private var far = Streak()

    /// Fixes in a row of which something holds.
    private struct Streak: Sendable {
        private var start: Timestamp?

        /// - Returns: seconds from the first of them to this one; −1 when it does not hold.
        mutating func extend(_ holds: Bool, at time: Timestamp) -> Double {
            guard holds else {
                start = nil
                return -1
            }
            let first = start ?? time
            start = first
            return time.seconds(since: first)
        }
    }

    /// - Parameters:
    ///   - state: what was known when it was kept; stationary needs a spot.
    ///   - spot: the parking spot.
    public init(thresholds: Thresholds, state: MotionState = .unknown, spot: Coordinate? = nil) {
        self.thresholds = thresholds
        self.state = state == .stationary && spot == nil ? .unknown : state
        self.spot = self.state == .stationary ? spot : nil
    }

    /// Takes the next settled fix.
    ///
    /// - Returns: the state before it, when it has changed.
    public mutating func observe(_ fix: Fix) -> MotionState? {
        keepStep(to: fix.time)
        let before = state
        switch state {
        case .stationary:
            guard let spot, hasSetOff(fix, from: spot) else { return nil }
            move(fix)
        case .unknown:
            let span = brisk.extend((fix.speed ?? 0) >= Self.slowSpeed, at: fix.time)
            guard span < Self.movingSpan else {
                move(fix)
                return before
            }
            lookWhetherStanding(fix)
        case .moving: lookWhetherStanding(fix)
        }
        return state == before ? nil : before
    }

    /// Time that runs backwards, or a gap, says nothing about how long it has been standing.
    private mutating func keepStep(to time: Timestamp) {
        defer { last = time }
        guard let last else { return }
        let step = time.seconds(since: last)
        guard step >= 0 else {
            window.removeAll()
            forgetStreaks()
            return
        }
        if step > Self.gap, step > 3 * usualStep { window.removeAll() }
        guard step > 0 else { return }
        steps.append(step)
        if steps.count > Self.stepsRemembered { steps.removeFirst() }
    }

    /// Seconds; 0 when none is remembered.
    private var usualStep: Double {
        steps.isEmpty ? 0 : steps.sorted()[(steps.count - 1) / 2]
    }

    private mutating func hasSetOff(_ fix: Fix, from spot: Coordinate) -> Bool {
        let reach = thresholds.reach(fix)
        let distance = spot.distance(to: fix.coordinate)
        let isOutside = distance > reach && (fix.speed ?? Self.slowSpeed) >= Self.slowSpeed
        let time = fix.time
        // Each of them must see every fix.
        let fastSpan = fast.extend((fix.speed ?? 0) >= Self.fastSpeed, at: time)
        let speedSpan = outsideWithSpeed.extend(isOutside && fix.speed != nil, at: time)
        let silentSpan = outside.extend(isOutside, at: time)
        let farSpan = far.extend(distance > max(4 * reach, Self.towedDistance), at: time)
        return max(fastSpan, speedSpan, farSpan) >= Self.movingSpan
            || silentSpan >= Self.movingSpanWithoutSpeed
    }

    private mutating func move(_ fix: Fix) {
        state = .moving
        spot = nil
        forgetStreaks()
        // What came before does not count for the next standing.
        window.removeAll()
        window.append(fix, duration: thresholds.duration)
    }

    private mutating func lookWhetherStanding(_ fix: Fix) {
        window.append(fix, duration: thresholds.duration)
        guard let mean = window.standing(thresholds) else { return }
        state = .stationary
        spot = mean
        window.removeAll()
        forgetStreaks()
    }

    private mutating func forgetStreaks() {
        brisk = Streak()
        fast = Streak()
        outside = Streak()
        outsideWithSpeed = Streak()
        far = Streak()
    }
}
