package import Base

/// Decides whether a receiver's time can be trusted, corrects GPS week rollovers, and keeps instants ascending.
///
/// A receiver without an almanac sends a random but plausible time; one with old firmware counts weeks modulo 1024 and
/// lands 19.6 years in the past.
///
/// Some receivers, or gpsd on their behalf, tell instants again: by another message, a little late, or a second behind. What
/// is not later than the newest instant that was used, and at most `repetitionLimit` before it, is a repetition. What is
/// further back is a step: once the time has settled again, a new run of ascending instants begins, which may repeat
/// those of an earlier one, because they are other moments.
package struct ReceiverTime: Sendable {
    /// A fix, and when it was received.
    package struct Arrival: Equatable, Sendable {
        /// With its corrected time.
        package var fix: Fix
        package var now: BootInstant

        /// - Parameter now: when it was received.
        package init(fix: Fix, now: BootInstant) {
            self.fix = fix
            self.now = now
        }
    }

    package enum Assessment: Equatable, Sendable {
        /// The time has proved itself, and the fix may be used. Its time has been corrected if the week number had
        /// rolled over. `after` has the fixes that were kept until they proved it, oldest first, which are to be used
        /// before it: none but with the fix that settles the time.
        case settled(Fix, after: [Arrival])
        /// Not yet trustworthy: the fix must not be used, but may come with the one that settles the time.
        case unsettled
        /// The instant, or a later one, has been used already: the fix must not be.
        case repeated
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
    /// Seconds. An instant that lies further back than this is told by a clock that was put back.
    package static let repetitionLimit = 60.0
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
    /// Number of fixes that told an instant again.
    package private(set) var repetitions = 0
    /// Since when there has been nothing but repetitions; nil: the latest fix was none.
    package private(set) var repeatsSince: BootInstant?
    /// Number of fixes that were not used, because the time had not settled.
    package private(set) var unproved = 0
    /// The fix time has proved itself, and nothing since has cast doubt on it.
    package private(set) var isSettled = false
    package private(set) var settledSince: BootInstant?
    /// Number of the present run of ascending instants; 0 until time steps back for the first time.
    package private(set) var run = 0

    /// The newest instant used in this session; nil: none yet.
    private var newest: Timestamp?
    /// The instant that the present run began with.
    private var first: Timestamp?
    /// The latest fix that was used since the time settled.
    private var last: (time: Timestamp, now: BootInstant)?
    /// The fixes that are to settle the time.
    private var proof = SettlingRun()
    /// Fixes in a row that are a little earlier than the newest of `proof`. If they settle first, that one was wrong.
    private var rival = SettlingRun()
    /// Repetitions in a row that began with the first instant of the run: a short recording is played once more.
    private var echo = SettlingRun()

    /// - Parameter isReplay: whether to accept the old times of a recording as they are.
    package init(isReplay: Bool = false) {
        self.isReplay = isReplay
    }

    /// Discards the proof: after a reconnection to gpsd or a change of receiver. The session's instants go on ascending.
    package mutating func unsettle() {
        isSettled = false
        settledSince = nil
        last = nil
        refusal = nil
        repeatsSince = nil
        endRuns()
    }

    /// Records an epoch without a fix, which breaks a run: consecutive means consecutive.
    package mutating func noFix() { endRuns() }

    /// A session begins, or nothing needs fixes any more: what comes is compared with nothing before it, and what came
    /// before does not belong to it.
    package mutating func beginSession() {
        (newest, first, repeatsSince) = (nil, nil, nil)
        forgetKept(upTo: nil)
    }

    /// A session goes on whose last stored fix has this time.
    package mutating func resume(after stored: Timestamp) {
        // A run that has begun meanwhile is another.
        if let newest, newest > stored || isStep(from: stored, to: newest) { return }
        newest = stored
    }

    /// The user deletes positions: fixes whose time has not settled are positions, too.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    package mutating func forgetKept(upTo cutoff: Timestamp?) {
        proof.forget(upTo: cutoff)
        rival.forget(upTo: cutoff)
        echo.forget(upTo: cutoff)
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
        return place(Arrival(fix: fix, now: now))
    }

    // MARK: The order of instants

    private func isStep(from newest: Timestamp, to time: Timestamp) -> Bool {
        newest.seconds(since: time) > Self.repetitionLimit
    }

    private func isRepetition(_ time: Timestamp, of newest: Timestamp?) -> Bool {
        guard let newest, time <= newest else { return false }
        return !isStep(from: newest, to: time)
    }

    private mutating func place(_ arrival: Arrival) -> Assessment {
        if isRepetition(arrival.fix.time, of: newest) { return note(repetition: arrival) }
        repeatsSince = nil
        repetitions += echo.end()
        guard isSettled, let last else { return prove(by: arrival) }
        let drift = arrival.fix.time.seconds(since: last.time) - arrival.now.seconds(since: last.now)
        if isStep(from: newest ?? last.time, to: arrival.fix.time) || drift > Self.forwardsLimit {
            (isSettled, settledSince) = (false, nil)
            return prove(by: arrival)
        }
        use(arrival)
        return .settled(arrival.fix, after: [])
    }

    private mutating func use(_ arrival: Arrival) {
        if let newest, arrival.fix.time <= newest {
            run += 1
            first = nil
        }
        if first == nil { first = arrival.fix.time }
        newest = arrival.fix.time
        last = (arrival.fix.time, arrival.now)
    }

    private mutating func note(repetition: Arrival) -> Assessment {
        repeatsSince = repeatsSince ?? repetition.now
        let isFirst = repetition.fix.time == first
        guard isReplay, isSettled, isFirst || echo.isContinued(by: repetition) else {
            repetitions += echo.end() + 1
            return .repeated
        }
        repetitions += echo.add(repetition)
        guard echo.isProof else { return .repeated }
        (newest, first) = (nil, nil)
        run += 1
        return settle(by: echo.take(), at: repetition.now)
    }

    private mutating func prove(by arrival: Arrival) -> Assessment {
        if isRepetition(arrival.fix.time, of: proof.last?.time) {
            unproved += rival.add(arrival)
            guard rival.isProof else { return .unsettled }
            unproved += proof.end()
            return settle(by: rival.take(), at: arrival.now)
        }
        unproved += rival.end() + proof.add(arrival)
        return proof.isProof ? settle(by: proof.take(), at: arrival.now) : .unsettled
    }

    /// - Parameter arrivals: the run of settling, which ends with the latest fix.
    private mutating func settle(by arrivals: [Arrival], at now: BootInstant) -> Assessment {
        (isSettled, settledSince, repeatsSince) = (true, now, nil)
        var used: [Arrival] = []
        for arrival in arrivals {
            // What the session had come to may have been learnt after the fix was kept.
            if isRepetition(arrival.fix.time, of: newest) {
                repetitions += 1
            } else {
                use(arrival)
                used.append(arrival)
            }
        }
        guard let latest = used.popLast() else { return .repeated }
        return .settled(latest.fix, after: used)
    }

    /// Drops the fixes that were kept until the time had settled.
    private mutating func endRuns() {
        unproved += proof.end() + rival.end()
        repetitions += echo.end()
    }
}
