package import Base

/// Gate, motion and check-ins combined: classifies every settled fix and decides whether it becomes a location. Pure:
/// no clock, no I/O.
///
/// Each fix is first observed. The geofences are consulted next, since they need to know whether the vehicle is
/// parked. Only then is the fix admitted or dropped:
///
///     first fix of a session ────────────────────────────────> admit
///     became stationary, or departed from the parking spot ──> admit(motion)
///     crosses a geofence ────────────────────────────────────> admit(geofence)
///     stationary, paused ────────────────────────────────────> drop(paused)
///     stationary, paused with check-ins ── due? ─────────────> admit(check_in), or drop(paused)
///     otherwise ─────────────────────────────────────────────> the gate's verdict
///     dropped, after the longest silence that there may be ──> admit(check_in)
///
/// Every admission resets the gate.
package struct Admission: Sendable {
    /// What is admitted while the vehicle is stationary.
    package enum WhileStationary: Equatable, Sendable {
        case nothing
        /// One fix per interval; seconds of fix time.
        case checkIns(every: Double)
        /// Whatever the gate admits.
        case gate
    }

    /// Everything an operator can change. A change takes effect with the next fix.
    package struct Thresholds: Equatable, Sendable {
        package var gate: Gate.Thresholds
        package var motion: Motion.Thresholds
        package var whileStationary: WhileStationary
        package var detectsActivity: Bool
        package var quality: QualityLimits
        /// Seconds of fix time since the last admitted fix after which one is admitted whatever the rest says; nil: never.
        package var longestSilence: Double?

        /// The default values match the configuration's.
        package init(
            gate: Gate.Thresholds, motion: Motion.Thresholds = Motion.Thresholds(),
            whileStationary: WhileStationary = .nothing, detectsActivity: Bool = false,
            quality: QualityLimits = QualityLimits(), longestSilence: Double? = nil
        ) {
            self.gate = gate
            self.motion = motion
            self.whileStationary = whileStationary
            self.detectsActivity = detectsActivity
            self.quality = quality
            self.longestSilence = longestSilence
        }
    }

    /// The state that must survive a restart; stored in the same transaction as the rows that change it.
    package struct Memory: Equatable, Sendable {
        /// The current motion state, which is also that of the last admitted fix.
        package var motion: MotionState
        /// The parking spot; nil unless stationary.
        package var spot: Coordinate?
        /// The fix time from which the next check-in is counted, while stationary: that of parking, or of the last
        /// check-in.
        package var checkInFrom: Timestamp?

        /// The default values are those of a new session.
        package init(
            motion: MotionState = .unknown, spot: Coordinate? = nil, checkInFrom: Timestamp? = nil
        ) {
            self.motion = motion
            self.spot = spot
            self.checkInFrom = checkInFrom
        }
    }

    /// What one fix says about the vehicle.
    package struct Observation: Equatable, Sendable {
        /// The fix as it was received.
        package var fix: Fix
        /// The motion state after this fix.
        package var motion: MotionState
        /// nil when detection is off or the fix reports no speed.
        package var activity: Activity?
        /// nil when the fix is not doubtful.
        package var quality: Quality?
        /// Stationary, as confirmed by a reported speed: position jitter must not move the vehicle out of a geofence.
        package var isParked: Bool
        /// With this fix the vehicle came to a stop, or departed from where it stood.
        package var isTurningPoint: Bool
    }

    /// A change takes effect with the next fix.
    package var thresholds: Thresholds {
        didSet {
            gate.thresholds = thresholds.gate
            movement.thresholds = thresholds.motion
        }
    }
    /// Metres travelled in this session: the sum of the distances between consecutive admitted fixes. A step is left
    /// out when the vehicle was stationary at both ends, because jitter while parked is not distance.
    package private(set) var odometer: Double

    private var gate: Gate
    private var movement: Motion
    private var check = QualityCheck()
    private var guess = ActivityGuess()
    private var checkInFrom: Timestamp?
    private var lastAdmittedMotion: MotionState

    /// Restores the stored state; the default values are those of a new session.
    package init(
        thresholds: Thresholds, last: Gate.Reference? = nil, memory: Memory = Memory(), odometer: Double = 0
    ) {
        self.thresholds = thresholds
        self.odometer = odometer
        gate = Gate(thresholds: thresholds.gate, last: last)
        movement = Motion(thresholds: thresholds.motion, state: memory.motion, spot: memory.spot)
        checkInFrom = memory.checkInFrom
        lastAdmittedMotion = memory.motion
    }

    /// A new run of instants begins, earlier than those before it: the gate opens, and a check-in is due.
    package mutating func beginRun() {
        gate.rearm()
        checkInFrom = nil
    }

    /// Adds metres to the session's distance that were not known before.
    package mutating func add(odometer: Double) {
        self.odometer += odometer
    }

    /// The motion state after the latest fix.
    package var motion: MotionState { movement.state }

    /// The state to store along with the fix just admitted.
    package var memory: Memory {
        Memory(
            motion: movement.state, spot: movement.spot,
            checkInFrom: movement.state == .stationary ? checkInFrom : nil)
    }

    /// Processes the next settled fix, whether or not a session is active.
    ///
    /// - Parameter motion: what somebody says the vehicle does at this fix; nil: nobody does.
    package mutating func observe(_ fix: Fix, as motion: MotionState? = nil) -> Observation {
        let quality = check.judge(fix, thresholds.quality)
        let before = movement.observe(fix, as: motion)
        if !thresholds.detectsActivity { guess = ActivityGuess() }
        return Observation(
            fix: fix, motion: movement.state,
            activity: thresholds.detectsActivity ? guess.observe(fix) : nil, quality: quality,
            isParked: movement.state == .stationary && fix.speed != nil,
            isTurningPoint: before != nil && (before == .stationary || movement.state == .stationary))
    }

    /// Decides on the fix just observed, and records it as the last admitted one if it is admitted.
    ///
    /// - Parameter crosses: whether the fix crosses a geofence.
    package mutating func decide(_ observed: Observation, crosses: Bool = false) -> Gate.Verdict {
        var verdict = verdict(observed, crosses)
        if case .drop = verdict, endsSilence(observed.fix) { verdict = .admit(.checkIn) }
        guard case .admit(let trigger) = verdict else { return verdict }
        let isDistance = lastAdmittedMotion != .stationary || observed.motion != .stationary
        if isDistance, let last = gate.last {
            odometer += last.coordinate.distance(to: observed.fix.coordinate)
        }
        lastAdmittedMotion = observed.motion
        gate.admitted(observed.fix)
        let isParking = trigger == .motion && observed.motion == .stationary
        if isParking || trigger == .checkIn { checkInFrom = observed.fix.time }
        return verdict
    }

    private func endsSilence(_ fix: Fix) -> Bool {
        guard let longest = thresholds.longestSilence else { return false }
        return gate.silence(before: fix).map { $0 >= longest } ?? true
    }

    private func verdict(_ observed: Observation, _ crosses: Bool) -> Gate.Verdict {
        if observed.isTurningPoint { return .admit(.motion) }
        if crosses { return .admit(.geofence) }
        guard observed.motion == .stationary, gate.last != nil else { return gate.decide(observed.fix) }
        switch thresholds.whileStationary {
        case .nothing: return .drop(.paused)
        case .checkIns(let interval):
            guard let checkInFrom else { return .admit(.checkIn) }
            let isDue = observed.fix.time.seconds(since: checkInFrom) >= interval
            return isDue ? .admit(.checkIn) : .drop(.paused)
        case .gate: return gate.decide(observed.fix)
        }
    }
}
