internal import Base
internal import Envelope
internal import Storage
internal import Tracking

/// Decides what becomes of each fix: whether its time is trusted, whom it answers, which geofences it crosses, and
/// whether it is stored. Pure: no clock, no I/O, no log.
struct FixPipeline {
    /// What can be wrong with the time of a fix; with the number of such fixes so far.
    enum TimeFault: Equatable {
        case refused(count: Int)
        case rolledOver(count: Int)
        case repeated(count: Int)
    }

    /// The result of the first stage.
    struct Timing: Equatable {
        /// Fixes that were kept until the receiver's time had settled, and are to be used before `fix`, oldest first.
        var earlier: [ReceiverTime.Arrival] = []
        /// The fix with its corrected time; nil unless the receiver's time has settled, and this is a new instant.
        var fix: Fix?
        var fault: TimeFault?
    }

    /// What a fix is stored with.
    struct Context {
        /// The session of tracking; nil when nothing is tracked.
        var session: Session?
        /// The session of the events between two sessions, if it has begun.
        var eventSession: Session?
        /// A JSON object.
        var extras: String?
        /// Whether the ignition is on; nil where none is configured, or its state is unknown.
        var ignition: Bool?
        /// An entry into a fence that reports no exits is followed by an exit at once.
        var endsEntries = false
    }

    /// The result of the second stage.
    struct Decision {
        /// Clients whose requests are satisfied, with what they get.
        var answers: [(token: Token, location: Location)] = []
        /// The admitted fix; nil when it is dropped, or nothing is tracked.
        var location: NewLocation?
        /// Stored in the transaction of the location, if there is one.
        var crossings: NewEvents?
        /// The session of events after this fix.
        var eventSession: Session?
        /// Trips that begin or end with it; to be recorded in the same transaction.
        var trips: [Trips.Change] = []

        /// Whether anything is to be stored.
        var isStored: Bool { location != nil || crossings != nil }
    }

    /// What becomes of a request for one location.
    enum Answer: Equatable {
        case located(Location)
        /// The request waits for the next suitable fix, or its timeout.
        case waiting
        case impossible(String)
    }

    /// Numbers of settled fixes that were not stored while tracking, by reason.
    struct Dropped: Equatable {
        var tooSoon = 0
        var tooNear = 0
        var paused = 0
    }

    private(set) var time: ReceiverTime
    private(set) var admission: Admission
    /// The odometer and the trips.
    var driving: Driving
    private(set) var oneShots = OneShots()
    private(set) var dropped = Dropped()
    /// Number of settled fixes while nothing was tracked.
    private(set) var untracked = 0
    private var ids: UUIDv7Generator
    /// What somebody says the vehicle does, until the next fix.
    private(set) var wantedMotion: MotionState?
    /// The place of the next fix is worth keeping.
    private var admitsNext = false
    /// Number of fixes admitted since the session was begun or resumed.
    private var admittedInSession = 0

    /// - Parameters:
    ///   - isReplay: whether the fixes come from a recording.
    ///   - boot: the present boot of the machine.
    init(
        thresholds: Admission.Thresholds, trips: Trips.Thresholds = Trips.Thresholds(), isReplay: Bool,
        boot: BootID, ids: UUIDv7Generator
    ) {
        driving = Driving(thresholds: Driving.Thresholds(trips: trips), boot: boot)
        time = ReceiverTime(isReplay: isReplay)
        admission = Admission(thresholds: thresholds)
        self.ids = ids
    }

    /// Changes what applies from the next fix on.
    mutating func configure(
        thresholds: Admission.Thresholds, trips: Trips.Thresholds = Trips.Thresholds(), isReplay: Bool
    ) {
        driving.configure(Driving.Thresholds(trips: trips))
        admission.thresholds = thresholds
        time.isReplay = isReplay
    }

    /// The next id, for whatever begins at this time.
    mutating func newID(at time: Timestamp) -> UUIDv7 { ids.next(at: time) }

    // MARK: Time

    /// Number of fixes whose time was not trusted yet, and that never came to be used.
    var unsettled: Int { time.unproved }

    /// The receiver's time has to prove itself again.
    mutating func unsettle() { time.unsettle() }

    /// Forgets the receiver's time, as nothing needs fixes any more.
    mutating func release() {
        time.unsettle()
        time.beginSession()
    }

    /// An epoch had no fix.
    mutating func noFix() { time.noFix() }

    /// The first stage: corrects and judges the time of the next fix.
    mutating func settle(_ fix: Fix, systemClock: ReceiverTime.SystemClock, now: BootInstant) -> Timing {
        let (rollovers, run) = (time.rollovers, time.run)
        let verdict = time.judge(fix, now: now, systemClock: systemClock)
        // Of the runs before it, nothing is left to be decided.
        if time.run != run { admission.beginRun() }
        let rolledOver: TimeFault? =
            time.rollovers > rollovers ? .rolledOver(count: time.rollovers) : nil
        switch verdict {
        case .settled(let fix, let earlier): return Timing(earlier: earlier, fix: fix, fault: rolledOver)
        case .unsettled: return Timing(fault: rolledOver)
        case .repeated: return Timing(fault: rolledOver ?? .repeated(count: time.repetitions))
        case .refused: return Timing(fault: .refused(count: time.refusals))
        }
    }

    // MARK: What becomes of a fix

    /// The second stage: decides on a fix whose time has settled.
    /// - Parameters:
    ///   - now: when it was received.
    ///   - isLatest: there is none that came after it. Who waits for a location gets that one.
    mutating func decide(
        _ fix: Fix, in context: Context, fences: inout Geofences, isLatest: Bool = true, now: BootInstant
    ) -> Decision {
        var observed = admission.observe(fix, as: wantedMotion)
        wantedMotion = nil
        if admitsNext { observed.isTurningPoint = true }
        admitsNext = false
        var decision = Decision(eventSession: context.eventSession)
        for token in isLatest ? oneShots.offer(observed, now: now) : [] {
            decision.answers.append((token, manualLocation(of: observed)))
        }
        decideCrossings(observed, context, &fences, &decision)
        decision.trips = driving.observe(
            observed, ignition: context.ignition, isTracking: context.session != nil, now: now)
        guard let session = context.session else {
            untracked += 1
            return decision
        }
        let crosses = decision.crossings?.events.isEmpty == false
        switch admission.decide(observed, crosses: crosses) {
        case .admit(let trigger):
            admittedInSession += 1
            decision.location = newLocation(of: observed, trigger, session, context)
        case .drop(.tooSoon): dropped.tooSoon += 1
        case .drop(.tooNear): dropped.tooNear += 1
        case .drop(.paused): dropped.paused += 1
        }
        return decision
    }

    private mutating func decideCrossings(
        _ observed: Admission.Observation, _ context: Context, _ fences: inout Geofences,
        _ decision: inout Decision
    ) {
        let time = observed.fix.time
        let outcome = fences.judge(
            observed.fix, isImplausible: observed.quality == .implausibleSpeed, isParked: observed.isParked)
        guard !outcome.isEmpty else { return }
        let home =
            context.session ?? context.eventSession ?? Session(id: ids.next(at: time), startedAt: time)
        if context.session == nil, !outcome.crossings.isEmpty || !outcome.stays.isEmpty {
            decision.eventSession = home
        }
        let events = outcome.crossings.flatMap { crossing in
            let fence = fences.item(crossing.geofence)
            var told = [
                GeofenceEvent(
                    id: ids.next(at: crossing.time), session: home.id, crossing: crossing,
                    coordinate: observed.fix.coordinate, accuracy: observed.fix.accuracy,
                    fenceAddedAt: fence?.addedAt)
            ]
            if context.endsEntries, crossing.kind == .enter, fence?.fence.notifiesOnExit == false {
                var end = told[0]
                (end.id, end.crossing.kind, end.reason) = (ids.next(at: crossing.time), .exit, .removed)
                told.append(end)
            }
            return told
        }
        decision.crossings = NewEvents(
            events: events, changes: outcome.changes, session: home.id, sessionStartedAt: home.startedAt,
            isTracking: context.session != nil, extras: context.extras, time: time, prunesByAge: false,
            vehicleEvents: outcome.stays.map { event(of: $0, at: observed.fix, in: home) })
    }

    private mutating func event(of stay: Geofences.Stay, at fix: Fix, in home: Session) -> VehicleEvent {
        VehicleEvent(
            id: ids.next(at: stay.time), session: home.id, happening: .dwell, subject: stay.geofence,
            data: EventData.json([
                "dwell_seconds": .number(stay.seconds), "entered_at": .time(stay.entered),
            ]),
            time: .known(stay.time, isEstimated: false),
            place: VehicleEvent.Place(fix.coordinate, accuracy: fix.accuracy))
    }

    private mutating func newLocation(
        of observed: Admission.Observation, _ trigger: Trigger, _ session: Session, _ context: Context
    ) -> NewLocation {
        let location = Location(
            id: ids.next(at: observed.fix.time), session: session.id, fix: observed.fix, trigger: trigger,
            motion: observed.motion, activity: observed.activity, quality: observed.quality,
            mileage: driving.odometer?.memory.wholeMetres, ignition: context.ignition)
        return NewLocation(
            location: location, session: session.id, sessionStartedAt: session.startedAt,
            odometer: admission.odometer, extras: context.extras, prunesByAge: false,
            memory: admission.memory, vehicle: driving.vehicle, run: time.run)
    }

    // MARK: Single locations

    /// Takes a request for one location.
    ///
    /// - Parameter obstacle: why no fix can come; nil when one can.
    mutating func locate(_ request: OneShots.Request, obstacle: String?, now: BootInstant) -> Answer {
        if let cached = oneShots.cachedFix(for: request, now: now) {
            return .located(manualLocation(of: cached))
        }
        if let obstacle { return .impossible(obstacle) }
        oneShots.add(request, now: now)
        return .waiting
    }

    /// - Returns: the clients whose requests have timed out.
    mutating func expireRequests(now: BootInstant) -> [Token] { oneShots.expire(now: now) }

    /// - Returns: those of the server that were waiting.
    mutating func cancelServerRequests() -> [Token] { oneShots.cancelServers() }

    /// - Returns: all clients that were waiting.
    mutating func cancelAllRequests() -> [Token] { oneShots.cancelAll() }

    mutating func cancelRequest(of token: Token) { oneShots.cancel(token) }

    /// A location for a request, which belongs to no session and is not stored. Otherwise it equals the one
    /// stored from the same fix, if any.
    private mutating func manualLocation(of observed: Admission.Observation) -> Location {
        Location(
            id: ids.next(at: observed.fix.time), session: nil, fix: observed.fix, trigger: .manual,
            motion: observed.motion, activity: observed.activity, quality: observed.quality)
    }
}

/// What begins with a session, or continues one.
extension FixPipeline {
    /// Prepares the gate and the trips for a new session.
    mutating func beginSession() {
        admission = Admission(thresholds: admission.thresholds)
        time.beginSession()
        admittedInSession = 0
        wantedMotion = nil
        admitsNext = false
    }

    /// Somebody says what the vehicle does: it holds for the next settled fix, and detection goes on from there.
    ///
    /// - Parameter motion: not `unknown`.
    mutating func setMotion(_ motion: MotionState) { wantedMotion = motion }

    /// The next settled fix is admitted, if something is tracked, with the trigger of a change of motion.
    mutating func admitNextFix() { admitsNext = true }

    /// Continues where the session was left.
    ///
    /// - Parameters:
    ///   - tail: what the store knows about the session.
    ///   - waiting: number of rows that are not stored yet.
    /// - Returns: metres that the waiting rows do not know of.
    mutating func resume(_ tail: SessionTail, waiting: Int) -> Double {
        if let stored = tail.reference?.time { time.resume(after: stored) }
        if admittedInSession == 0 {
            admission = Admission(
                thresholds: admission.thresholds, last: tail.reference, memory: tail.memory,
                odometer: tail.odometer)
            return 0
        }
        // Fixes were admitted without it, and none of them is stored yet: the distance before them counts, too.
        guard waiting > 0, waiting >= admittedInSession else { return 0 }
        admission.add(odometer: tail.odometer)
        return tail.odometer
    }

    /// The user deletes the latest positions: only the length of the session is kept.
    mutating func forgetPositions() {
        admission = Admission(thresholds: admission.thresholds, odometer: admission.odometer)
    }

    /// Forgets the fix that requests for one location could be answered with, and fixes whose time has not
    /// settled.
    ///
    /// - Parameter cutoff: nil: whatever its time.
    mutating func forgetLatestFix(upTo cutoff: Timestamp?) {
        oneShots.forgetLatest(upTo: cutoff)
        time.forgetKept(upTo: cutoff)
    }
}

extension FixPipeline.Decision {
    /// Says which rows may be deleted for their age along with this write.
    ///
    /// - Parameter memory: what is to be remembered of the observed times; only a location carries it.
    mutating func set(_ ages: TimeKeeper.Ages, memory: AgeTrust.Memory?) {
        location?.prunesByAge = ages.prunes
        location?.agesOnlyBefore = ages.onlyBefore
        location?.ages = memory
        crossings?.prunesByAge = ages.prunes
        crossings?.agesOnlyBefore = ages.onlyBefore
    }
}
