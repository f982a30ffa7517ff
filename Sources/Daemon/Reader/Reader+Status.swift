internal import Base
internal import GPSD
internal import Storage
internal import Synchronization
internal import Tracking

/// What others see of the reader.
extension Reader {
    /// A change of the receiver's or gpsd's is reported, and requests that it leaves without hope are refused.
    func noteHealth(now: BootInstant) {
        let health = link.health(
            now: now, isSettled: pipeline.time.isSettled, repeatsSince: pipeline.time.repeatsSince)
        guard link.note(health) else { return }
        if health == .noDevice, let obstacle = link.obstacle { refuseRequests(obstacle) }
        outbox.post(.sourceChanged)
    }

    /// Subscribers hear of it.
    func tellState() {
        outbox.post(.stateChanged(sessions.change))
    }

    func snapshot() -> ReaderSnapshot {
        var snapshot = ReaderSnapshot()
        let session = sessions.session
        snapshot.state = sessions.state
        snapshot.change = sessions.change
        snapshot.session = session?.id
        snapshot.sessionStartedAt = session?.startedAt
        snapshot.lastLocation = recorder.latest
        snapshot.health = link.health
        snapshot.facts = link.facts
        snapshot.isTimeSettled = pipeline.time.isSettled
        snapshot.rollovers = pipeline.time.rollovers
        snapshot.refusedTimes = pipeline.time.refusals
        snapshot.refusal = pipeline.time.refusal
        snapshot.fixes = FixCounts(
            admitted: recorder.stored, dropped: pipeline.dropped, unsettled: pipeline.unsettled,
            untracked: pipeline.untracked, repeated: pipeline.time.repetitions + recorder.repeated,
            refused: recorder.refused)
        snapshot.motion = session == nil ? .unknown : pipeline.admission.motion
        snapshot.odometer = odometer.told
        snapshot.trip = pipeline.driving.trips.open
        snapshot.geofences = fences.geofences.count
        snapshot.vehicle = vehicle?.report
        snapshot.waitingInMemory = recorder.waiting
        snapshot.refused = hub.store.counts().losses.refused + recorder.uncounted
        snapshot.lostAt = losses.latest
        snapshot.storageError = recorder.error?.report
        snapshot.newest = recorder.newest
        snapshot.fences = fences.known
        snapshot.fencesOfServers = fences.ofServers
        snapshot.extras = extras.all
        snapshot.revision = revision
        return snapshot
    }
}
