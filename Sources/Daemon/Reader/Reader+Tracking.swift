internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Tracking
internal import Upload

/// Whether to track: what persons, the server, the schedule and the ignition wish.
extension Reader {
    /// A wish made now.
    func wish(tracks: Bool, of origin: Wish.Origin, now: BootInstant) -> Wish {
        Wish(tracks: tracks, origin: origin, time: hub.clock.trusted(now: now))
    }

    /// Does what somebody wishes, if it counts: the newest wish decides, but a person's stop holds against the server. Durable
    /// when it returns.
    ///
    /// - Throws: when a person's stop holds against it, or it could not be written: then nothing has changed.
    func take(_ wish: Wish, now: BootInstant) throws(CommandFailure) {
        switch try sessions.judge(wish) {
        case .refused: throw CommandFailure(kind: .stoppedByPerson)
        case .kept: return
        case .taken:
            if wish.origin != .ignition { vehicle?.overrule() }
            if wish.tracks {
                _ = try start(StateChange.Reason(wish.origin), for: wish, now: now)
                if wish.supersedesServersStop { supersedeServersStops(now: now) }
            } else {
                try stop(for: wish, now: now)
            }
        }
    }

    /// A stop that waits to be run, or to be run once more after a crash, is older than what has just been wished.
    private func supersedeServersStops(now: BootInstant) {
        guard hub.store.counts().commands.values.contains(where: { $0.waiting > 0 }) else { return }
        do {
            let name = Settings.Commands.Name.stop.rawValue
            for stop in try hub.store.supersedeCommands(named: name, at: hub.clock.time(now: now)) {
                Log.warning(
                    .serverCommand,
                    "\(name) \(stop.id) of the server of \(stop.destination) not done: \(CommandError(.superseded).text)",
                    [
                        (.destination, stop.destination.text), (.batch, stop.batch.description),
                        (.command, stop.id),
                    ])
                outbox.post(.commandDone(stop))
            }
        } catch {
            recorder.note(error, now: now)
        }
    }

    /// - Returns: the session in progress, a new one if there was none.
    func start(
        _ reason: StateChange.Reason, for wish: Wish, now: BootInstant
    ) throws(CommandFailure) -> UUIDv7 {
        if let session = sessions.session {
            noting(now: now) { sessions.note(wish) }
            return session.id
        }
        let session = newSession(now: now)
        try sessions.start(reason, in: session, for: wish, now: now)
        beginSession()
        followHold(now: now)
        adjustLink(now: now)
        tellState()
        return session.id
    }

    private func newSession(now: BootInstant) -> Session {
        let time = hub.clock.time(now: now)
        return Session(id: pipeline.newID(at: time), startedAt: time)
    }

    /// What the parts forget when a session is entered.
    func beginSession() {
        pipeline.beginSession()
        fences.eventSession = nil
    }

    private func stop(for wish: Wish, now: BootInstant) throws(CommandFailure) {
        defer { if sessions.holdsAgainstServer { refuseServerRequests() } }
        if sessions.recall.isMissing(.intent) {
            try sessions.stopUnknown(newSession(now: now), for: wish, at: stopTime(now: now))
            followHold(now: now)
            flush(now: now)
            sessions.closeLeftOpen(latest: recorder.latest?.fix.time)
            return tellState()
        }
        guard sessions.session != nil else {
            return try noting(now: now) { () throws(CommandFailure) in
                try sessions.stayStopped(for: wish, newSession(now: now), at: stopTime(now: now))
                followHold(now: now)
                flush(now: now)
            }
        }
        // Epochs that are still open belong to the session.
        followRest(of: link.flush(now: now), now: now)
        guard let session = try sessions.stop(for: wish, at: stopTime(now: now)) else { return }
        pipeline.driving.endTracking()
        followHold(ending: session, now: now)
        adjustLink(now: now)
        flush(now: now)
        sessions.close(session, at: hub.clock.time(now: now), now: now)
        triggerAtStop()
        tellState()
    }

    /// The state stays; who has decided it may be another.
    private func noting(now: BootInstant, _ note: () throws(CommandFailure) -> Void) throws(CommandFailure) {
        let before = sessions.change
        try note()
        if sessions.change != before { tellState() }
    }

    private func noting(now: BootInstant, _ note: () -> Void) {
        let before = sessions.change
        note()
        if sessions.change != before { tellState() }
    }

    // MARK: The schedule

    /// Starts or stops tracking as the schedule says.
    func followSchedule(now: BootInstant) {
        // Until the database has said what was intended, nothing is known to be replaced.
        guard schedule.isActive, !sessions.recall.isMissing(.intent) else { return }
        var present = sessions.wish
        let neededTime = schedule.needsTime
        let wish = schedule.look(hub.clock.trusted(now: now), present: &present, now: now)
        if schedule.needsTime != neededTime { adjustLink(now: now) }
        guard let wish else { return sessions.note(present) }
        do throws(CommandFailure) {
            // The schedule has judged it by what it knows of its time.
            if wish.tracks {
                _ = try start(.schedule, for: wish, now: now)
            } else {
                try stop(for: wish, now: now)
            }
        } catch {
            Log.error(
                .storageFailed, "the schedule is not followed yet, trying again in 10 s: \(error.reason)")
            schedule.retry(now: now)
        }
    }
}
