internal import Base
internal import Configuration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The reader thread: gpsd → epochs → time → gate → COMMIT, one synchronous call chain that waits for nobody else.
///
/// Confined to its thread.
final class Reader {
    let hub: Hub
    var settings: Settings
    var source: Source
    var receiverTime: ReceiverTime
    var admission: Admission
    var recorder: Recorder
    var ids: UUIDv7Generator
    var random = SystemRandomNumberGenerator()
    var state = ReaderSnapshot.State.idle
    var session: (id: UUIDv7, startedAt: Timestamp)?
    /// The reason for the state, for subscribers.
    var stateReason: StateChange.Reason?
    /// The current session, or the last one that ended.
    var latestSession: UUIDv7?
    var lastLocation: Location?
    /// `admitted`: since the start, and stored: their COMMIT has returned.
    var counts = (admitted: 0, tooSoon: 0, tooNear: 0, paused: 0)
    var deletion: DeletionUnderWay?
    /// What is carried out in steps between fixes, too, with kept rows and dead letters. Rows get new numbers on their
    /// way back into the queue, by which a deletion would not know them any more: while there is one, they wait.
    var resend: (work: Resend, token: Token)?
    var rejectedWork: (work: RejectedWork, act: RejectedWork.Act, token: Token)?
    /// What SetExtras has changed of the configured extras.
    var changedExtras = SmallFiles.Extras()
    /// The extras in force, as they are stored with each row.
    var extras: String?
    var fences = Geofences()
    /// The session of the events between two sessions of tracking.
    var eventSession: (id: UUIDv7, startedAt: Timestamp)?
    /// What the small file beside the database says of the fences.
    var keptInside: Set<Int64>?
    /// The database does not know the states of all fences yet.
    var mustAdoptStates = false
    /// States have changed since they were last kept beside the database.
    var mustKeepStates = false
    var oneShots = OneShots()
    var link = Link.none
    var lastHealth = SourceHealth.released
    var loggedRollovers: BootInstant?
    var loggedRefusals: BootInstant?
    var losses = LossWatch()
    /// The number of refused fixes already reported.
    var toldRefused = 0
    /// There may be more rows outside of batches than the cap allows.
    var mayShrink = true
    var loggedJump: BootInstant?
    /// What the store could not read yet.
    var missing: Missing = []
    /// Why the file of the intent does not say what was intended; nil when there is none.
    var lostIntent: SmallFiles.Trouble?
    /// The recorder knows that it is to be read again.
    var isRecallNoted = false
    /// Number of fixes admitted since the session was entered in this run.
    var admittedInSession = 0

    /// - Returns: nil when there is no memory for libgps.
    init?(hub: Hub, settings: Settings) {
        guard let source = Source(settings.gpsd) else { return nil }
        self.hub = hub
        self.settings = settings
        self.source = source
        receiverTime = ReceiverTime(isReplay: settings.gpsd.replay)
        admission = Admission(thresholds: Admission.Thresholds(settings.tracking))
        recorder = Recorder(store: hub.store)
        ids = UUIDv7Generator(using: &random)
    }

    /// Runs until the daemon stops.
    func run() {
        resume(now: .current())
        while !hub.board.isStopping.load(ordering: .relaxed) {
            let now = BootInstant.current()
            hub.board.readerWork.begin(now)
            obey(now: now)
            for event in source.run(now: now) {
                handle(event, now: now)
                // A slow disk may hold up each fix; who asks for something waits for one of them, not for all.
                if !hub.reader.isEmpty { obey(now: now) }
            }
            answer(oneShots.expire(now: now), with: .success(nil))
            proceedWithDeletion(now: now)
            proceedWithRejected()
            proceedWithResend()
            if recorder.isRetryDue(now) { flush(now: now) }
            proceedWithShrinking(now: now)
            // While nothing is admitted, perhaps for days, nothing is written.
            tellStoreEvents()
            tellLosses(now: now)
            publish(now: now)
            if adjustSource(now: now) { publish(now: now) }
            waitForWork(since: now)
        }
        finish(now: .current())
    }

    private func obey(now: BootInstant) {
        for command in hub.reader.takeAll() { perform(command, now: now) }
    }

    /// - Parameter started: when this round began.
    private func waitForWork(since started: BootInstant) {
        let now = BootInstant.current()
        source.discountPause(seconds: now.seconds(since: started))
        if hasSteps || mustShrink { return }
        var poll = PollSet()
        poll.add(hub.reader.wakeup.descriptor)
        poll.add(source.descriptor, read: !source.wantsWrite, write: source.wantsWrite)
        let deadlines = [
            source.deadline, recorder.retryAt, oneShots.deadline, losses.deadline, deletion?.retryAt,
        ]
        let deadline = deadlines.compactMap(\.self).min()
        hub.board.readerWork.rest()
        poll.wait(seconds: deadline.map { max($0.seconds(since: now), 0) })
    }

    /// The last epoch may still be open: what the receiver has told is stored before the end.
    private func finish(now: BootInstant) {
        for event in source.release(now: now) { handle(event, now: now) }
        flush(now: now)
        while recorder.error == nil, recorder.waiting > 0 { flush(now: .current()) }
        tellLosses(now: now)
        if let rest = losses.rest { report(rest) }
        recorder.reportLoss()
        publish(now: now)
        hub.board.readerWork.rest()
        hub.tell(.readerEnded)
    }

    // MARK: Fixes

    func handle(_ event: Source.Event, now: BootInstant) {
        switch event {
        case .connected:
            link = .up
            Log.debug(.sourceChanged, "connected to gpsd at \(settings.gpsd.host):\(settings.gpsd.port)")
        case .disconnected(let reason, let delay):
            receiverTime.unsettle()
            linkLost(reason)
            if lastHealth != .disconnected {
                let pause = Int(delay.rounded(.up))
                Log.warning(
                    .sourceChanged,
                    "no connection to gpsd at \(settings.gpsd.host):\(settings.gpsd.port) (\(reason)); "
                        + "trying again in \(pause) s and from then on")
            }
        case .deviceChanged(let device):
            receiverTime.unsettle()
            Log.notice(.sourceChanged, "fixes come from \(device) now", [(.device, device)])
        case .noFix: receiverTime.noFix()
        case .fix(let fix): take(fix, now: now)
        }
    }

    private func take(_ fix: Fix, now: BootInstant) {
        let rollovers = receiverTime.rollovers
        let verdict = receiverTime.judge(fix, now: now, systemClock: hub.clock.system(now: now))
        if verdict == .refused {
            report(&loggedRefusals, refusal(of: fix, now: now), now: now)
        } else if receiverTime.rollovers > rollovers {
            report(&loggedRollovers, rollover(of: fix), now: now)
        }
        guard case .settled(let fix) = verdict else { return }
        // A recording's time says nothing about the present.
        if !settings.gpsd.replay, hub.clock.observe(fix.time, now: now) {
            // A token may have expired by the clock that there is now.
            hub.uploader.wakeup.signal()
        }
        if missing.contains(.tail), recorder.isRetryDue(now) { recall(now: now) }
        let observed = admission.observe(fix)
        answer(oneShots.offer(observed, now: now), with: observed)
        let crossings = judgeGeofences(observed, now: now)
        guard state == .tracking else { return record(crossings, now: now) }
        switch admission.decide(observed, crosses: crossings?.events.isEmpty == false) {
        case .admit(let trigger): return admit(observed, trigger, crossings, now: now)
        case .drop(.tooSoon): counts.tooSoon += 1
        case .drop(.tooNear): counts.tooNear += 1
        case .drop(.paused): counts.paused += 1
        }
        record(crossings, now: now)
    }

    /// - Parameter crossings: what the fix has decided about the geofences; stored in the same transaction.
    private func admit(
        _ observed: Admission.Observation, _ trigger: Trigger, _ crossings: NewCrossings?, now: BootInstant
    ) {
        guard let session else { return }
        let fix = observed.fix
        admittedInSession += 1
        let ages = ages(at: fix, now: now)
        let location = Location(
            id: ids.next(at: fix.time), session: session.id, fix: fix, trigger: trigger,
            motion: observed.motion, activity: observed.activity, quality: observed.quality)
        recorder.add(
            NewLocation(
                location: location, session: session.id, sessionStartedAt: session.startedAt,
                odometer: admission.odometer, extras: extras, prunesByAge: ages.prunes,
                agesOnlyBefore: ages.onlyBefore, ages: takeDueAges(), memory: admission.memory),
            with: crossings)
        flushUnlessFailing(now: now)
    }

    /// A disk that has just failed is not asked again for every fix.
    func flushUnlessFailing(now: BootInstant) {
        if recorder.retryAt == nil || recorder.isRetryDue(now) { flush(now: now) }
    }

    /// Writes what waits, in order, and tells whom it concerns. Told is only what COMMIT has returned for.
    func flush(now: BootInstant) {
        recall(now: now)
        let hadFailed = recorder.error != nil
        let result = recorder.flush(now: now, clock: BootInstant.current)
        if hadFailed, recorder.error == nil { hub.tellUploader(.storageRecovered) }
        // However long the disk took, it has answered: this thread gets on.
        hub.board.readerWork.begin(.current())
        counts.admitted += result.stored.count
        for location in result.stored {
            lastLocation = location
            if hub.board.hasListeners.load(ordering: .relaxed) { hub.tell(.location(location)) }
        }
        if let pending = result.pending, let sync = settings.sync, sync.syncThreshold > 0,
            pending >= sync.syncThreshold
        {
            hub.tellUploader(.trigger(.threshold))
        }
        for event in result.events { announce(event) }
        if !result.events.isEmpty, settings.sync != nil { hub.tellUploader(.trigger(.geofence)) }
        tellStoreEvents()
        mustKeepStates = mustKeepStates || result.hasCrossings
        if mustAdoptStates || mustKeepStates { keepStates(now: now) }
    }

    /// What has happened to the database, whichever thread has met with it.
    private func tellStoreEvents() {
        for event in hub.store.takeEvents() {
            event.report(hub.board)
            if event == .replaced {
                writeIntentAgain()
                writeGeofencesAgain()
            }
            mustAdoptStates = true
            writeAgesAgain()
        }
    }

    /// Warns of the receiver's time, once an hour.
    private func report(_ logged: inout BootInstant?, _ message: @autoclosure () -> String, now: BootInstant)
    {
        if let logged, now.seconds(since: logged) < 3600 { return }
        logged = now
        Log.warning(.receiverTime, message())
    }

    private func rollover(of fix: Fix) -> String {
        "the receiver says \(fix.time.iso8601), which is 1024 weeks or more ago: its week counter has rolled over; "
            + "corrected (\(receiverTime.rollovers) so far). Its firmware wants an update"
    }

    private func refusal(of fix: Fix, now: BootInstant) -> String {
        "the receiver says \(fix.time.iso8601), and the clock of this machine, which is known to be right, "
            + "\(hub.clock.time(now: now).iso8601): such fixes are refused (\(receiverTime.refusals) so far). "
            + "One of them is wrong: fix the receiver, or what sets the clock. For a recording, set gpsd.replay"
    }

    // MARK: Status

    func publish(now: BootInstant) {
        let health = source.health(now: now, isSettled: receiverTime.isSettled)
        hub.board.publish(snapshot(health))
        guard health != lastHealth else { return }
        let before = lastHealth
        lastHealth = health
        report(health, after: before)
        if health == .noDevice { refuseOneShots("gpsd has no receiver") }
        hub.tell(.sourceChanged)
    }

    private func snapshot(_ health: SourceHealth) -> ReaderSnapshot {
        var snapshot = ReaderSnapshot()
        snapshot.state = state
        snapshot.change = stateChange
        snapshot.session = session?.id
        snapshot.sessionStartedAt = session?.startedAt
        snapshot.lastLocation = lastLocation
        snapshot.health = health
        snapshot.facts = source.facts
        snapshot.isTimeSettled = receiverTime.isSettled
        snapshot.rollovers = receiverTime.rollovers
        snapshot.refusedTimes = receiverTime.refusals
        snapshot.refusal = receiverTime.refusal
        snapshot.admitted = counts.admitted
        snapshot.tooSoon = counts.tooSoon
        snapshot.tooNear = counts.tooNear
        snapshot.paused = counts.paused
        snapshot.motion = state == .tracking ? admission.motion : .unknown
        snapshot.geofences = fences.count
        snapshot.waitingInMemory = recorder.waiting
        snapshot.refused = hub.store.counts().losses.refused + recorder.uncounted
        snapshot.lostAt = losses.latest
        snapshot.storageError = recorder.error?.report
        return snapshot
    }

    private func report(_ health: SourceHealth, after before: SourceHealth) {
        switch health {
        case .ok:
            Log.info(
                .sourceChanged, "receiver \(source.facts.device ?? "") has a fix and its time is settled",
                [(.device, source.facts.device ?? "")])
        case .noDevice:
            Log.warning(.sourceChanged, "gpsd has no receiver: check the cable and gpsd's list of devices")
        case .stale: Log.warning(.sourceChanged, "the receiver has sent no new fix for 10 s")
        case .noFix where before == .ok: Log.warning(.sourceChanged, "the receiver has lost its fix")
        case .noFix, .released, .disconnected, .unsettled: break
        }
    }
}

extension Source {
    init?(_ settings: Settings.GPSD) {
        self.init(host: settings.host, port: settings.port, device: settings.device)
    }
}

extension Admission.Thresholds {
    init(_ settings: Settings.Tracking) {
        let whileStationary: Admission.WhileStationary =
            switch settings.stationaryMode {
            case .pause: .nothing
            case .pauseWithCheckIns: .checkIns(every: settings.checkInIntervalSeconds)
            case .keepTracking: .gate
            }
        self.init(
            gate: Gate.Thresholds(
                interval: settings.intervalSeconds, distance: settings.distanceMeters,
                angle: settings.angleDegrees),
            motion: Motion.Thresholds(
                radius: settings.stationaryRadiusMeters, duration: settings.stationaryAfterSeconds),
            whileStationary: whileStationary, detectsActivity: settings.detectActivity,
            quality: QualityLimits(
                accuracy: settings.lowAccuracyMeters, speed: settings.implausibleSpeedMps))
    }
}

extension Store.Event {
    /// A database of which not all could be read; shown in the status until the next start.
    private var unreadFile: String? {
        guard case .quarantined(let name, _, _) = self, !name.hasSuffix(".salvaged") else { return nil }
        return name
    }

    /// Tells the operator.
    func report(_ board: Board) {
        if case .logDamaged = self { board.note(damaged: "beekon.db-wal") }
        if let unreadFile { board.note(damaged: unreadFile) }
        switch self {
        case .quarantined(let name, let reason, let salvaged):
            let rest =
                name.hasSuffix(".salvaged")
                ? "and all its rows (\(salvaged)) are"
                : "and stays until you delete it, because not all of it could be read; \(salvaged) of its rows are"
            Log.error(
                .databaseQuarantined,
                "the database was damaged (\(reason)): it is kept as \(name), \(rest) in a new one. Check the health of "
                    + "the disk")
        case .logDamaged(let name):
            Log.error(
                .databaseLost,
                "beekon.db-wal was damaged: what was stored last, and was in that file alone, may be lost. It is kept as "
                    + "\(name). Check the health of the disk")
        case .removed(let name):
            let what =
                name.hasSuffix("-wal") ? "a damaged WAL" : "a damaged database whose rows had all been saved"
            Log.notice(.databaseQuarantined, "deleted \(name), \(what): newer ones are kept")
        case .notOpened(let error):
            Log.warning(.storageFailed, "the database could not be opened (\(error.report)); trying again")
        case .replaced:
            Log.warning(
                .storageFailed,
                "the database was removed or replaced while it was in use; the one that is there now was opened"
            )
        }
    }
}
