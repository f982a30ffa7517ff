internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The path of a fix from gpsd to COMMIT, and what is told of it.
extension Reader {
    /// - Parameter readAt: when gpsd has said it.
    func follow(_ event: Source.Event, readAt: BootInstant, now: BootInstant) {
        switch event {
        case .connected: link.noteConnected()
        case .disconnected(let reason, let delay):
            pipeline.unsettle()
            if let obstacle = link.noteDisconnected(reason, retryIn: delay) { refuseRequests(obstacle) }
        case .deviceChanged(let device):
            pipeline.unsettle()
            link.noteReceiver(device)
        case .noFix: pipeline.noFix()
        case .fix(let fix): settle(fix, readAt: readAt, now: now)
        }
    }

    /// What has been read so far, to its end: what comes after it belongs to another session, or to none. It is decided now, and
    /// written as far as the disk is quick; the rest waits in memory, and is due at once.
    ///
    /// - Parameter last: the fixes of epochs that were still open.
    func followRest(of last: [Source.Event], now: BootInstant) {
        holdsWrites = true
        while let event = backlog.next() { follow(event, readAt: backlog.readAt, now: now) }
        for event in last { follow(event, readAt: now, now: now) }
        holdsWrites = false
        if recorder.waiting > 0 { flushUnlessFailed(now: now) }
    }

    private func settle(_ fix: Fix, readAt: BootInstant, now: BootInstant) {
        let timing = pipeline.settle(fix, systemClock: hub.clock.system(now: now), now: readAt)
        if let fault = timing.fault { times.report(fault, of: fix, now: now) }
        for earlier in timing.earlier { use(earlier, isLatest: false, now: now) }
        if let fix = timing.fix { use(ReceiverTime.Arrival(fix: fix, now: readAt), isLatest: true, now: now) }
    }

    /// - Parameter isLatest: false: it was kept until the time had settled, and another follows.
    private func use(_ arrival: ReceiverTime.Arrival, isLatest: Bool, now: BootInstant) {
        // A recording's time says nothing about the present.
        if !settings.gpsd.replay {
            times.setClock(by: arrival.fix, now: arrival.now)
            events.noteTime()
            stampEvents(now: now)
        }
        if sessions.recall.isMissing(.tail), recorder.isRetryDue(now) { recall(now: now) }
        store(arrival, isLatest: isLatest, now: now)
    }

    private func store(_ arrival: ReceiverTime.Arrival, isLatest: Bool, now: BootInstant) {
        let fix = arrival.fix
        let context = FixPipeline.Context(
            session: sessions.session, eventSession: fences.eventSession, extras: extras.json,
            ignition: ignition, endsEntries: settings.awaitsExits)
        var decision = pipeline.decide(
            fix, in: context, fences: &fences.geofences, isLatest: isLatest, now: arrival.now)
        fences.eventSession = decision.eventSession
        for (token, location) in decision.answers { answer(token, .success(location)) }
        defer { keepOdometer(now: now) }
        if !decision.trips.isEmpty { decision.add(newEvents(of: decision.trips, at: fix.time)) }
        // Asked for locations that are stored, and for no other fix.
        decision.location?.location.battery = battery.present(now: now)
        vehicle?.decided(decision.location?.location, now: now)
        guard decision.isStored else { return }
        decision.set(
            ages(at: fix.time, now: arrival.now), memory: decision.location == nil ? nil : times.takeDueAges()
        )
        if let location = decision.location {
            recorder.add(location, with: decision.crossings)
        } else if let crossings = decision.crossings {
            recorder.add(crossings)
        }
        if !holdsWrites || recorder.waiting >= Recorder.limit / 2 { flushUnlessFailed(now: now) }
    }

    /// A disk that has just failed is not tried again for every fix.
    private func flushUnlessFailed(now: BootInstant) {
        if recorder.retryAt == nil || recorder.isRetryDue(now) { flush(now: now) }
    }

    private func ages(at time: Timestamp, now: BootInstant) -> TimeKeeper.Ages {
        // A recording's time says nothing about the present.
        if settings.gpsd.replay { return TimeKeeper.Ages() }
        return times.ages(
            at: time, settledSince: pipeline.time.settledSince, limits: settings.store, now: now)
    }

    /// What has happened to the database, whichever thread noticed it.
    func reportStoreEvents() {
        for event in hub.store.takeEvents() {
            event.report(hub.board)
            if case .uncarried = event { continue }
            if event == .replaced {
                sessions.writeIntentAgain()
                fences.writeAgain()
            }
            fences.noteChangedDatabase()
            pipeline.driving.forgetKept()
            events.noteUntimed()
            times.writeAgesAgain()
        }
    }

    /// Writes what waits, in order. Tells only of what is committed.
    ///
    /// The steps depend on their order. What the start could not read comes first, as new rows go on from it. Listeners and
    /// uploaders hear of rows after their COMMIT. A database that was replaced meanwhile is noticed before the states of
    /// geofences are kept, so that a new one gets all of them; and these are kept last, as they must not run ahead of events.
    ///
    /// - Parameter yields: what is left waits for the next turn as soon as a client does.
    func flush(now: BootInstant, yields: Bool = false) {
        recall(now: now)
        let hadFailed = recorder.error != nil
        let result = recorder.flush(now: now, stopwatch) { [hub] in
            yields && hub.hasWorkForReader
        }
        if hadFailed, recorder.error == nil { outbox.deliver(toUploaders: .storageRecovered) }
        // However long the disk took, it has answered: this thread makes progress.
        hub.board.readerWork.begin()
        hasFlushed = true
        odometer.note(result.stored, in: pipeline.driving)
        tell(result)
        reportStoreEvents()
        if !result.stored.isEmpty, recorder.waiting == 0, pipeline.wantedMotion == nil {
            sessions.forgetMotion()
        }
        if result.hasStates { fences.noteStoredStates() }
        fences.keepChangedStates(now: now)
    }

    private func tell(_ result: Recorder.Result) {
        let hasListeners = hub.board.hasListeners.load(ordering: .relaxed)
        if hasListeners { for location in result.stored { outbox.post(.location(location)) } }
        for event in result.events {
            let verb = event.crossing.kind == .enter ? "entered" : "left"
            let reason = event.reason.map { " (\($0.rawValue))" } ?? ""
            Log.info(
                .geofenceCrossed,
                "\(verb) geofence \(event.crossing.geofence) at \(event.crossing.time.iso8601)\(reason)",
                [(.geofence, event.crossing.geofence), (.session, event.session.description)])
            if hasListeners { outbox.post(.crossed(event)) }
        }
        tell(result.vehicleEvents, toListeners: hasListeners)
        trigger(after: result)
    }

    // MARK: Whether fixes are needed

    /// Connects when something needs fixes, and lets gpsd go when nothing does any more.
    ///
    /// - Returns: whether gpsd was let go now.
    @discardableResult
    func adjustLink(now: BootInstant) -> Bool {
        if sessions.session != nil || fences.geofences.needFixes || !pipeline.oneShots.isEmpty
            || schedule.needsTime
        {
            link.acquire(now: now)
            return false
        }
        guard !link.isReleased else { return false }
        followRest(of: link.release(now: now), now: now)
        pipeline.release()
        releaseDriving(now: now)
        return true
    }
}
