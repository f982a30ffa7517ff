package import Base

/// Decides whether a receiver's time can be trusted, and corrects GPS week rollovers.
///
/// gpsd_json(5): "Verify 3 consecutive 3D fixes before believing it is UTC." A receiver without an almanac sends a
/// random but plausible time; one with old firmware counts weeks modulo 1024 and lands 19.6 years in the past.
package struct ReceiverTime: Sendable {
    package enum Assessment: Equatable, Sendable {
        /// The time has proved itself, and the fix may be used. Its time has been corrected if the week number had
        /// rolled over.
        case settled(Fix)
        /// Not yet trustworthy: the fix must not be used.
        case unsettled
        /// More than a day ahead of a clock that is known to be right or, after a rollover correction, more than a
        /// day from it in either direction.
        case refused
    }

    /// Two clocks that contradict each other.
    package struct Refusal: Equatable, Sendable {
        /// The receiver's time, before any correction.
        package var receiver: Timestamp
        /// The time of the system clock, which is known to be good.
        package var clock: Timestamp
    }

    /// What is known about the system clock at one moment.
    package struct SystemClock: Equatable, Sendable {
        package var time: Timestamp
        /// The kernel reports it as synchronised, or it has agreed with settled fixes.
        package var isKnownGood: Bool

        /// Read once per wake-up and passed on.
        package init(time: Timestamp, isKnownGood: Bool) {
            self.time = time
            self.isKnownGood = isKnownGood
        }
    }

    /// 2026-11-01T00:00:00Z, about when this version was released: no working receiver sends an earlier time.
    package static let releaseDate = Timestamp(milliseconds: 1_793_491_200_000)
    /// Fix times before this have rolled over, and a system clock before it has not been set.
    package static let earliest = Timestamp(milliseconds: releaseDate.milliseconds - 30 * 86_400_000)
    /// 1024 weeks, the period of the GPS week counter. Milliseconds.
    static let rolloverPeriod: Int64 = 1024 * 7 * 86_400_000
    /// Seconds by which a step of the fix time may differ from that of CLOCK_BOOTTIME.
    static let stepTolerance = 1.5
    /// Seconds of fix time that a run must span to settle.
    static let settlingSpan = 2.0
    /// Seconds; a larger step backwards unsettles.
    static let backwardsLimit = 1.0
    /// Seconds; a larger step forwards, relative to CLOCK_BOOTTIME, unsettles.
    static let forwardsLimit = 3600.0
    /// Seconds; a time further than this ahead of a known-good clock is refused.
    static let futureLimit = 86_400.0

    /// Replaying a recording: no rollover correction and no refusal.
    package var isReplay: Bool
    /// Number of fixes with a corrected week number.
    package private(set) var rollovers = 0
    package private(set) var refusals = 0
    /// Set while the latest fix was refused; nil otherwise.
    package private(set) var refusal: Refusal?
    /// The fix time has proved itself, and nothing since has cast doubt on it.
    package private(set) var isSettled = false
    package private(set) var settledSince: BootInstant?

    private var last: (time: Timestamp, now: BootInstant)?
    private var run = Run()

    /// Consecutive fixes whose time steps agree with CLOCK_BOOTTIME.
    private struct Run {
        var fixes = 0
        var start = Timestamp(milliseconds: 0)
        /// Number of fixes at the end of the run that have mode 3.
        var fixes3D = 0
        var start3D = Timestamp(milliseconds: 0)
    }

    /// - Parameter isReplay: whether to accept the old times of a recording as they are.
    package init(isReplay: Bool = false) {
        self.isReplay = isReplay
    }

    /// Discards the proof: after a reconnection to gpsd or a change of receiver.
    package mutating func unsettle() {
        isSettled = false
        settledSince = nil
        last = nil
        run = Run()
        refusal = nil
    }

    /// Records an epoch without a fix, which breaks a run: consecutive means consecutive.
    package mutating func noFix() {
        if !isSettled { run = Run() }
    }

    /// Judges the time of the next fix, received at `now`.
    package mutating func judge(_ fix: Fix, now: BootInstant, systemClock: SystemClock) -> Assessment {
        let received = fix.time
        var fix = fix
        let hasRolledOver = !isReplay && fix.time < Self.earliest
        if hasRolledOver {
            let missing = Self.earliest.milliseconds &- fix.time.milliseconds
            let periods = (missing + Self.rolloverPeriod - 1) / Self.rolloverPeriod
            fix.time.milliseconds += periods * Self.rolloverPeriod
            rollovers += 1
        }
        if !isReplay, systemClock.isKnownGood {
            let ahead = fix.time.seconds(since: systemClock.time)
            if ahead > Self.futureLimit || hasRolledOver && ahead < -Self.futureLimit {
                refusals += 1
                refusal = Refusal(receiver: received, clock: systemClock.time)
                return .refused
            }
        }
        refusal = nil
        advance(to: fix, now: now)
        return isSettled ? .settled(fix) : .unsettled
    }

    private mutating func advance(to fix: Fix, now: BootInstant) {
        defer { last = (fix.time, now) }
        guard let last else { return extendRun(with: fix, isFirst: true, now: now) }
        let step = fix.time.seconds(since: last.time)
        let drift = step - now.seconds(since: last.now)
        if isSettled {
            if step < -Self.backwardsLimit || drift > Self.forwardsLimit {
                isSettled = false
                settledSince = nil
                extendRun(with: fix, isFirst: true, now: now)
            }
        } else {
            extendRun(with: fix, isFirst: step <= 0 || abs(drift) > Self.stepTolerance, now: now)
        }
    }

    private mutating func extendRun(with fix: Fix, isFirst: Bool, now: BootInstant) {
        if isFirst { run = Run() }
        if run.fixes == 0 { run.start = fix.time }
        run.fixes += 1
        if fix.mode >= 3 {
            if run.fixes3D == 0 { run.start3D = fix.time }
            run.fixes3D += 1
        } else {
            run.fixes3D = 0
        }
        let hasSettled3D = run.fixes3D >= 3 && fix.time.seconds(since: run.start3D) >= Self.settlingSpan
        let hasSettled2D = run.fixes >= 10 && fix.time.seconds(since: run.start) >= Self.settlingSpan
        if hasSettled3D || hasSettled2D {
            isSettled = true
            settledSince = now
            run = Run()
        }
    }
}
