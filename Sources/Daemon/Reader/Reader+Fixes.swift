internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The path of a fix from gpsd to COMMIT, and what is published after it.
extension Reader {
    func follow(_ event: Source.Event, now: BootInstant) {
        switch event {
        case .connected: link.noteConnected()
        case .disconnected(let reason, let delay):
            pipeline.unsettle()
            if let obstacle = link.noteDisconnected(reason, retryIn: delay) { refuseRequests(obstacle) }
        case .deviceChanged(let device):
            pipeline.unsettle()
            link.noteReceiver(device)
        case .noFix: pipeline.noFix()
        case .fix(let fix): settle(fix, now: now)
        }
    }

    private func settle(_ fix: Fix, now: BootInstant) {
        let timing = pipeline.settle(fix, systemClock: hub.clock.system(now: now), now: now)
        if let fault = timing.fault { times.report(fault, of: fix, now: now) }
        for earlier in timing.earlier { use(earlier, isLatest: false, now: now) }
        if let fix = timing.fix { use(ReceiverTime.Arrival(fix: fix, now: now), isLatest: true, now: now) }
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
        if !decision.trips.isEmpty { decision.add(newEvents(of: decision.trips, now: now)) }
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
        // A disk that has just failed is not tried again for every fix.
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

    /// Writes what waits, in order. Publishes only what is committed.
    func flush(now: BootInstant) {
        recall(now: now)
        let hadFailed = recorder.error != nil
        let result = recorder.flush(now: now, clock: BootInstant.current)
        if hadFailed, recorder.error == nil { hub.post(toUploaders: .storageRecovered) }
        // However long the disk took, it has answered: this thread makes progress.
        hub.board.readerWork.begin(.current())
        odometer.note(result.stored, in: pipeline.driving)
        publish(result)
        reportStoreEvents()
        if !result.stored.isEmpty, recorder.waiting == 0, pipeline.wantedMotion == nil {
            sessions.forgetMotion()
        }
        if result.hasStates { fences.noteStoredStates() }
        fences.keepChangedStates(now: now)
    }

    private func publish(_ result: Recorder.Result) {
        let hasListeners = hub.board.hasListeners.load(ordering: .relaxed)
        if hasListeners { for location in result.stored { hub.post(.location(location)) } }
        for event in result.events {
            let verb = event.crossing.kind == .enter ? "entered" : "left"
            let reason = event.reason.map { " (\($0.rawValue))" } ?? ""
            Log.info(
                .geofenceCrossed,
                "\(verb) geofence \(event.crossing.geofence) at \(event.crossing.time.iso8601)\(reason)",
                [(.geofence, event.crossing.geofence), (.session, event.session.description)])
            if hasListeners { hub.post(.crossed(event)) }
        }
        publish(result.vehicleEvents, toListeners: hasListeners)
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
        for event in link.release(now: now) { follow(event, now: now) }
        pipeline.release()
        releaseDriving(now: now)
        return true
    }
}
