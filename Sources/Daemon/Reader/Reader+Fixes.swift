internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The way of a fix from gpsd to COMMIT, and what is published after it.
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
        guard let fix = timing.fix else { return }
        // A recording's time says nothing about the present.
        if !settings.gpsd.replay { times.setClock(by: fix, now: now) }
        if sessions.recall.isMissing(.tail), recorder.isRetryDue(now) { recall(now: now) }
        store(fix, now: now)
    }

    private func store(_ fix: Fix, now: BootInstant) {
        let context = FixPipeline.Context(
            session: sessions.session, eventSession: fences.eventSession, extras: extras.json)
        var decision = pipeline.decide(fix, in: context, fences: &fences.geofences, now: now)
        fences.eventSession = decision.eventSession
        for (token, location) in decision.answers { answer(token, .success(location)) }
        guard decision.isStored else { return }
        decision.set(
            ages(at: fix.time, now: now), memory: decision.location == nil ? nil : times.takeDueAges())
        if let location = decision.location {
            recorder.add(location, with: decision.crossings)
        } else if let crossings = decision.crossings {
            recorder.add(crossings)
        }
        // A disk that has just failed is not asked again for every fix.
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
            if event == .replaced {
                sessions.writeIntentAgain()
                fences.writeAgain()
            }
            fences.noteChangedDatabase()
            times.writeAgesAgain()
        }
    }

    /// Writes what waits, in order. Publishes only what is committed.
    func flush(now: BootInstant) {
        recall(now: now)
        let hadFailed = recorder.error != nil
        let result = recorder.flush(now: now, clock: BootInstant.current)
        if hadFailed, recorder.error == nil { hub.post(toUploaders: .storageRecovered) }
        // However long the disk took, it has answered: this thread gets on.
        hub.board.readerWork.begin(.current())
        publish(result)
        reportStoreEvents()
        if result.hasCrossings { fences.noteStoredStates() }
        fences.keepChangedStates(now: now)
    }

    private func publish(_ result: Recorder.Result) {
        let hasListeners = hub.board.hasListeners.load(ordering: .relaxed)
        if hasListeners { for location in result.stored { hub.post(.location(location)) } }
        if let pending = result.pending, let sync = settings.sync, sync.syncThreshold > 0,
            pending >= sync.syncThreshold
        {
            hub.uploaders.main.deliver(.trigger(.threshold))
        }
        if result.pending != nil { triggerOthers() }
        for event in result.events {
            let verb = event.crossing.kind == .enter ? "entered" : "left"
            Log.info(
                .geofenceCrossed,
                "\(verb) geofence \(event.crossing.geofence) at \(event.crossing.time.iso8601)",
                [(.geofence, event.crossing.geofence), (.session, event.session.description)])
            if hasListeners { hub.post(.crossed(event)) }
        }
        if !result.events.isEmpty, settings.uploads { hub.post(toUploaders: .trigger(.geofence)) }
    }

    /// The thresholds of the destinations besides `main`.
    private func triggerOthers() {
        for destination in settings.destinations where destination.sync.syncThreshold > 0 {
            guard let name = DestinationName(destination.name),
                let counts = hub.store.counts()[name], counts.pending >= destination.sync.syncThreshold
            else { continue }
            hub.uploaders[name]?.deliver(.trigger(.threshold))
        }
    }

    // MARK: Whether fixes are needed

    /// Connects when something needs fixes, and lets gpsd go when nothing does any more.
    ///
    /// - Returns: whether gpsd was let go now.
    @discardableResult
    func adjustLink(now: BootInstant) -> Bool {
        if sessions.session != nil || !fences.geofences.isEmpty || !pipeline.oneShots.isEmpty
            || schedule.needsTime
        {
            link.acquire(now: now)
            return false
        }
        guard !link.isReleased else { return false }
        for event in link.release(now: now) { follow(event, now: now) }
        pipeline.unsettle()
        return true
    }
}
