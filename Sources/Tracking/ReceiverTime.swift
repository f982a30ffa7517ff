/// Decides whether a receiver's time can be believed, and puts week rollovers right.
///
/// gpsd_json(5): "Verify 3 consecutive 3D fixes before believing it is UTC." A receiver without an almanac sends a
/// random but plausible time; one with old firmware counts weeks modulo 1024 and lands 19.6 years in the past.
public struct ReceiverTime: Sendable {
    /// What becomes of a fix.
    public enum Verdict: Equatable, Sendable {
        /// The time has proved itself; the fix may be used. Its time is corrected when the weeks had rolled over.
        case settled(Fix)
        /// Not yet believable: nothing downstream may see this fix.
        case unsettled
        /// More than a day ahead of, or (after a rollover correction) away from, a clock that is known to be right.
        case refused
    }

    /// Two clocks that contradict each other.
    public struct Refusal: Equatable, Sendable {
        /// What the receiver says, before any correction.
        public var receiver: Timestamp
        /// What the system clock showed, which is known to be good.
        public var clock: Timestamp
    }

    /// What is known about the system clock at one moment.
    public struct SystemClock: Equatable, Sendable {
        /// What it shows.
        public var time: Timestamp
        /// The kernel says synchronised, or it has agreed with settled fixes.
        public var isKnownGood: Bool

        /// Read once per wake-up, and passed on.
        public init(time: Timestamp, isKnownGood: Bool) {
            self.time = time
            self.isKnownGood = isKnownGood
        }
    }

    /// 2026-11-01T00:00:00Z, about when this version was made: no honest receiver sends an earlier time.
    public static let releaseDate = Timestamp(milliseconds: 1_793_491_200_000)
    /// Fix times before this have rolled over, and a system clock before it has not been set.
    public static let earliest = Timestamp(milliseconds: releaseDate.milliseconds - 30 * 86_400_000)
    /// 1024 weeks, the period of the GPS week counter. Milliseconds.
    static let rolloverPeriod: Int64 = 1024 * 7 * 86_400_000
    /// How far a step of the fix time may be from that of CLOCK_BOOTTIME. Seconds.
    static let stepTolerance = 1.5
    /// Seconds of fix time that a run must span.
    static let settlingSpan = 2.0
    /// Seconds; a larger step backwards unsettles.
    static let backwardsLimit = 1.0
    /// Seconds; a larger step forwards, beyond what CLOCK_BOOTTIME shows, unsettles.
    static let forwardsLimit = 3600.0
    /// Seconds; a time further than this ahead of a known-good clock is refused.
    static let futureLimit = 86_400.0

    /// Replays of recordings: no rollover correction and no refusal.
    public var isReplay: Bool
    /// Fixes whose weeks were corrected.
    public private(set) var rollovers = 0
    /// Fixes refused.
    public private(set) var refusals = 0
    /// The latest fix was refused; nil when it was not.
    public private(set) var refusal: Refusal?
    /// The fix time has proved itself and nothing has happened since to doubt it.
    public private(set) var isSettled = false
    /// When it last became settled.
    public private(set) var settledSince: BootInstant?

    private var last: (time: Timestamp, now: BootInstant)?
    private var run = Run()

    /// Consecutive fixes whose time steps agree with CLOCK_BOOTTIME.
    private struct Run {
        var fixes = 0
        var start = Timestamp(milliseconds: 0)
        /// Those at its end that have mode 3.
        var fixes3D = 0
        var start3D = Timestamp(milliseconds: 0)
    }

    /// A replay's old times are taken as they are.
    public init(isReplay: Bool = false) {
        self.isReplay = isReplay
    }

    /// Forgets what was proved: after a reconnect to gpsd or a change of receiver.
    public mutating func unsettle() {
        isSettled = false
        settledSince = nil
        last = nil
        run = Run()
        refusal = nil
    }

    /// An epoch without a fix: consecutive means consecutive.
    public mutating func noFix() {
        if !isSettled { run = Run() }
    }

    /// Judges the time of the next fix, received at `now`.
    public mutating func judge(_ fix: Fix, now: BootInstant, systemClock: SystemClock) -> Verdict {
        let told = fix.time
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
                refusal = Refusal(receiver: told, clock: systemClock.time)
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
        let beyond = step - now.seconds(since: last.now)
        if isSettled {
            if step < -Self.backwardsLimit || beyond > Self.forwardsLimit {
                isSettled = false
                settledSince = nil
                extendRun(with: fix, isFirst: true, now: now)
            }
        } else {
            extendRun(with: fix, isFirst: step <= 0 || abs(beyond) > Self.stepTolerance, now: now)
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
        let is3D = run.fixes3D >= 3 && fix.time.seconds(since: run.start3D) >= Self.settlingSpan
        let is2D = run.fixes >= 10 && fix.time.seconds(since: run.start) >= Self.settlingSpan
        if is3D || is2D {
            isSettled = true
            settledSince = now
            run = Run()
        }
    }
}
