internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking

/// What was before this run: from the small files, and from the store, which may not answer yet.
extension Reader {
    /// Takes up what was intended before the daemon ended, however it ended.
    func resume(now: BootInstant) {
        extras.resume(configured: settings.extras)
        odometer.resume()
        schedule.configure(settings.tracking)
        fences.resume(now: now)
        // Subscribers and status show the newest location until the next fix arrives.
        sessions.recall.add(.deletion, .latest, .ages)
        recall(now: now)
        follow(sessions.resume(), now: now)
        sessions.recall.add(.vehicle)
        recall(now: now)
        followHold(now: now)
        resumeVehicle(now: now)
        adjustLink(now: now)
        odometer.isRunning = true
        if link.isReleased { releaseDriving(now: now) }
        // A trip that a power cut has ended.
        if recorder.waiting > 0, recorder.error == nil { flush(now: now) }
        tellState()
    }

    private func follow(_ intent: SessionKeeper.Intent, now: BootInstant) {
        switch intent {
        case .tracking:
            pipeline.beginSession()
            if let motion = sessions.motion { pipeline.setMotion(motion) }
        case .stopped:
            // A stop that was cut off before what it ends was recorded.
            if let open = (try? hub.store.openTrackingSession()) ?? nil {
                followHold(ending: Session(open), now: now)
                flush(now: now)
            }
            sessions.closeLeftOpen(latest: recorder.latest?.fix.time)
            sessions.recall.add(.eventSession)
        case .unknown:
            sessions.recall.add(.intent, .eventSession)
        }
    }

    /// Reads what has not been read yet, as far as the store answers.
    func recall(now: BootInstant) {
        guard sessions.recall.next != nil else { return }
        do throws(StorageError) {
            while let item = sessions.recall.next { try read(item, now: now) }
            sessions.recall.isFailureNoted = false
        } catch {
            // Reading it shows that storage works again; then it is read before the waiting fixes are written. The recorder, which
            // keeps the repair, is held by the sessions.
            let repair: Recorder.Repair? =
                sessions.recall.isFailureNoted
                ? nil
                : { [store = hub.store, weak sessions] () throws(StorageError) in
                    _ = try store.latestLocation()
                    try sessions?.requireReadIntent()
                }
            sessions.recall.isFailureNoted = true
            recorder.note(error, now: now, repair: repair)
        }
    }

    private func read(_ item: Recall.Item, now: BootInstant) throws(StorageError) {
        switch item {
        case .deletion:
            try work.resumeDeletion()
        case .latest:
            let newest = try hub.store.latestLocation()
            if let time = newest?.fix.time { hub.clock.raise(to: time, now: now) }
            if !work.isDoomed(newest?.fix.time) { recorder.resume(latest: newest) }
        case .ages:
            try times.resumeAges()
        case .intent:
            let intent = try sessions.resumeAgain()
            if intent != .unknown {
                sessions.recall.remove(.intent)
                follow(intent, now: now)
                followHold(now: now)
                adjustLink(now: now)
                tellState()
                return
            }
            let latest = try hub.store.latestTrackingSession()
            sessions.recall.remove(.intent)
            takeUp(latest.map { (Session($0.session), $0.isOpen) }, now: now)
        case .tail:
            if let session = sessions.session,
                let tail = try hub.store.enter(session: session.id, startedAt: session.startedAt)
            {
                let missed = pipeline.resume(work.remainder(of: tail), waiting: recorder.waiting)
                recorder.add(odometer: missed)
            }
        case .eventSession:
            guard sessions.session == nil, fences.eventSession == nil else { break }
            fences.eventSession = try hub.store.openEventSession().map { Session($0) }
        case .vehicle: try resumeDriving(now: now)
        }
        sessions.recall.remove(item)
    }

    private func takeUp(_ latest: (session: Session, isOpen: Bool)?, now: BootInstant) {
        switch sessions.infer(from: latest, autostarts: settings.tracking.autostart) {
        case .nothing: return followHold(now: now)
        case .autostart:
            do {
                _ = try start(.autostart, for: wish(tracks: true, of: .person, now: now), now: now)
            } catch {
                Log.error(.storageFailed, "autostart failed: \(error.reason)")
            }
            return followHold(now: now)
        case .resumed: beginSession()
        case .stopped: break
        }
        followHold(now: now)
        adjustLink(now: now)
        tellState()
    }
}
