/// Gate, motion and check-ins in one: takes every settled fix, tells what it means, and decides whether it becomes a
/// location. Pure: no clock, no I/O.
///
/// A fix is first observed, then the geofences are asked, which want to know whether the vehicle is parked, and then it is
/// decided about:
///
///     first fix of a session ────────────────────────────────> admit
///     established stationary, or set off from there ─────────> admit(motion)
///     crosses a geofence ────────────────────────────────────> admit(geofence)
///     stationary, pause ─────────────────────────────────────> drop(paused)
///     stationary, pause with check-ins ── due? ──────────────> admit(check_in), or drop(paused)
///     otherwise ─────────────────────────────────────────────> what the gate says
///
/// Every admission resets the gate.
public struct Admission: Sendable {
    /// What is admitted while the vehicle stands.
    public enum WhileStationary: Equatable, Sendable {
        case nothing
        /// One fix every so many seconds of fix time.
        case checkIns(every: Double)
        /// Whatever the gate lets through.
        case gate
    }

    /// Everything that an operator can change. A change applies to the next fix.
    public struct Thresholds: Equatable, Sendable {
        /// Interval, distance, angle.
        public var gate: Gate.Thresholds
        /// When it is standing.
        public var motion: Motion.Thresholds
        /// And what is admitted then.
        public var whileStationary: WhileStationary
        /// Guess at the activity.
        public var detectsActivity: Bool
        /// When a fix is doubtful.
        public var quality: QualityLimits

        /// The defaults are those of the configuration.
        public init(
            gate: Gate.Thresholds, motion: Motion.Thresholds = Motion.Thresholds(),
            whileStationary: WhileStationary = .nothing, detectsActivity: Bool = false,
            quality: QualityLimits = QualityLimits()
        ) {
            self.gate = gate
            self.motion = motion
            self.whileStationary = whileStationary
            self.detectsActivity = detectsActivity
            self.quality = quality
        }
    }

    /// What must survive a restart of motion: written with the rows that change it.
    public struct Memory: Equatable, Sendable {
        /// Of the last admitted fix, too.
        public var motion: MotionState
        /// The parking spot, while stationary.
        public var spot: Coordinate?
        /// The fix from which the time to the next check-in counts, while stationary: the parking spot's, or the last
        /// check-in.
        public var checkInFrom: Timestamp?

        /// The defaults are those of a new session.
        public init(
            motion: MotionState = .unknown, spot: Coordinate? = nil, checkInFrom: Timestamp? = nil
        ) {
            self.motion = motion
            self.spot = spot
            self.checkInFrom = checkInFrom
        }
    }

    /// What a fix means.
    public struct Observation: Equatable, Sendable {
        /// The fix itself.
        public var fix: Fix
        /// Whether the vehicle moves, this fix considered.
        public var motion: MotionState
        /// nil when detection is off, or the fix reports no speed.
        public var activity: Activity?
        /// nil when it is good.
        public var quality: Quality?
        /// It stands, and a speed that is reported says so: its position may wander, and takes nothing along.
        public var isParked: Bool
        /// It has come to a stand with this fix, or has set off from where it stood.
        public var isTurningPoint: Bool
    }

    /// A change applies to the next fix.
    public var thresholds: Thresholds {
        didSet {
            gate.thresholds = thresholds.gate
            movement.thresholds = thresholds.motion
        }
    }
    /// Metres of the session. It grows by each step between admitted fixes, unless motion is stationary at both ends: what
    /// a parked vehicle's position wanders is no way.
    public private(set) var odometer: Double

    private var gate: Gate
    private var movement: Motion
    private var check = QualityCheck()
    private var guess = ActivityGuess()
    private var checkInFrom: Timestamp?
    private var lastAdmittedMotion: MotionState

    /// All but the thresholds as they were kept; the defaults are those of a new session.
    public init(
        thresholds: Thresholds, last: Gate.Reference? = nil, memory: Memory = Memory(), odometer: Double = 0
    ) {
        self.thresholds = thresholds
        self.odometer = odometer
        gate = Gate(thresholds: thresholds.gate, last: last)
        movement = Motion(thresholds: thresholds.motion, state: memory.motion, spot: memory.spot)
        checkInFrom = memory.checkInFrom
        lastAdmittedMotion = memory.motion
    }

    /// The session is longer than was known: metres.
    public mutating func add(odometer: Double) {
        self.odometer += odometer
    }

    /// Whether the vehicle moves, as far as the fixes up to now tell.
    public var motion: MotionState { movement.state }

    /// To be kept with the fix that was just admitted.
    public var memory: Memory {
        Memory(
            motion: movement.state, spot: movement.spot,
            checkInFrom: movement.state == .stationary ? checkInFrom : nil)
    }

    /// Takes the next settled fix, also when nothing is being tracked.
    public mutating func observe(_ fix: Fix) -> Observation {
        let quality = check.judge(fix, thresholds.quality)
        let before = movement.observe(fix)
        if !thresholds.detectsActivity { guess = ActivityGuess() }
        return Observation(
            fix: fix, motion: movement.state,
            activity: thresholds.detectsActivity ? guess.observe(fix) : nil, quality: quality,
            isParked: movement.state == .stationary && fix.speed != nil,
            isTurningPoint: before != nil && (before == .stationary || movement.state == .stationary))
    }

    /// Decides about the fix that was just observed, and remembers it when it is admitted.
    ///
    /// - Parameter crosses: it has crossed a geofence.
    public mutating func decide(_ observed: Observation, crosses: Bool = false) -> Gate.Verdict {
        let verdict = verdict(observed, crosses)
        guard case .admit(let trigger) = verdict else { return verdict }
        let isWay = lastAdmittedMotion != .stationary || observed.motion != .stationary
        if isWay, let last = gate.last { odometer += last.coordinate.distance(to: observed.fix.coordinate) }
        lastAdmittedMotion = observed.motion
        gate.admitted(observed.fix)
        let isParking = trigger == .motion && observed.motion == .stationary
        if isParking || trigger == .checkIn { checkInFrom = observed.fix.time }
        return verdict
    }

    private func verdict(_ observed: Observation, _ crosses: Bool) -> Gate.Verdict {
        if observed.isTurningPoint { return .admit(.motion) }
        if crosses { return .admit(.geofence) }
        guard observed.motion == .stationary, gate.last != nil else { return gate.decide(observed.fix) }
        switch thresholds.whileStationary {
        case .nothing: return .drop(.paused)
        case .checkIns(let interval):
            guard let checkInFrom else { return .admit(.checkIn) }
            let elapsed = observed.fix.time.seconds(since: checkInFrom)
            // Time that runs backwards must not silence it for years.
            let isDue = elapsed < 0 || elapsed >= interval
            return isDue ? .admit(.checkIn) : .drop(.paused)
        case .gate: return gate.decide(observed.fix)
        }
    }
}
