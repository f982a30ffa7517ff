internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Tracking

/// What users change about the geofences.
///
/// Who was told that the vehicle is in a fence hears of its exit, whatever becomes of the fence: Home Assistant ignores the
/// locations of a vehicle that it believes inside. The exit is stored first, in one transaction with the end of the fence's
/// state, and then the fences are written. A death between the two leaves a fence of which nothing is known, which is
/// entered anew.
extension Reader {
    /// Durable when it returns.
    func record(
        exitsFrom left: [Geofences.Item], forgetting gone: [Int64], now: BootInstant
    ) throws(CommandFailure) {
        // Behind what waits, the entries among it.
        if recorder.waiting > 0 { flush(now: now) }
        if recorder.waiting == 0 {
            recorder.add(exits(from: left, forgetting: gone, now: now))
            // It is in the queue now, whatever becomes of the rest.
            fences.geofences.forgetStates(of: gone)
            flush(now: now)
        }
        guard recorder.waiting == 0 else {
            throw CommandFailure(
                reason:
                    "the vehicle is inside, and its exit cannot be stored at the moment; the geofences stay "
                    + "as they are, try again once storage works")
        }
    }

    private func exits(
        from left: [Geofences.Item], forgetting gone: [Int64], now: BootInstant
    ) -> NewEvents {
        let present = hub.clock.time(now: now)
        let time = max(present, fences.geofences.earliest(of: left.map(\.key)) ?? present)
        return exits(
            from: left, forgetting: gone, for: .removed, in: eventHome(at: time),
            isTracking: sessions.session != nil, at: time
        ) { exitPlace(from: $0) }
    }

    private func exits(
        from left: [Geofences.Item], forgetting gone: [Int64], for reason: GeofenceEvent.Reason,
        in home: Session, isTracking: Bool, at time: Timestamp, place: (Geofence) -> VehicleEvent.Place
    ) -> NewEvents {
        let events = left.map { item in
            let place = place(item.fence)
            return GeofenceEvent(
                id: pipeline.newID(at: time), session: home.id,
                crossing: Crossing(geofence: item.fence.id, kind: .exit, time: time),
                coordinate: place.coordinate, accuracy: place.accuracy, fenceAddedAt: item.addedAt,
                reason: reason)
        }
        var new = NewEvents(
            events: events, changes: [], session: home.id, sessionStartedAt: home.startedAt,
            isTracking: isTracking, extras: extras.json, time: time, prunesByAge: false)
        new.forgotten = gone
        return new
    }

    /// Nothing that is not known already: where the vehicle was when it was last tracked in this session, or somewhere in
    /// the fence. Else whoever may add and remove fences could ask where a vehicle is that nobody tracks.
    private func exitPlace(from fence: Geofence) -> VehicleEvent.Place {
        guard let session = sessions.session, let latest = recorder.latest, latest.session == session.id
        else { return VehicleEvent.Place(fence.centre, accuracy: fence.radius) }
        return VehicleEvent.Place(latest.fix.coordinate, accuracy: latest.fix.accuracy)
    }
}

// What a server hears of its fences ends with a person's stop: nothing of them may say where somebody is who has stopped being
// tracked. What the stop ends is told with it. The file of the intent holds the stop and its time, and is written first; the
// exits follow in one transaction with the end of the states. Where a death came between the two, the next start finds a stop
// that holds and a state of a server's fence, and records what is missing.
extension Reader {
    /// Has the geofences of servers count as none while a person's stop holds, and again after it. To be called whenever that may
    /// have changed; what it adds to the queue is for the next flush.
    ///
    /// - Parameter stopped: the session that the stop ends; nil: it had ended before.
    func followHold(ending stopped: Session? = nil, now: BootInstant) {
        let holds = sessions.holdsAgainstServer
        // Until it is known what was intended, nothing of them is told either.
        fences.pauseServers(holds || sessions.recall.isMissing(.intent))
        guard holds else { return }
        let paused = fences.geofences.ofServers
        let judged = paused.filter { $0.isInside != nil }
        if !judged.isEmpty {
            // Nothing more is told of them: without an exit a server would take the vehicle to be there, whatever they report.
            let left = judged.filter { $0.isInside == true }
            let time = exitTime(from: left, now: now)
            recorder.add(
                exits(
                    from: left, forgetting: judged.map(\.key), for: .stopped,
                    in: stopped ?? eventHome(at: time), isTracking: stopped != nil, at: time
                ) { lastPlace(besides: $0) })
            fences.noteStoredStates()
        }
        // What had been seen of the others is no evidence for what comes after the stop.
        fences.geofences.forgetStates(of: paused.map(\.key))
    }

    /// The present, but not before what the fences have been told already: a stop comes last.
    func stopTime(now: BootInstant) -> Timestamp {
        let present = hub.clock.time(now: now)
        return max(present, fences.geofences.earliest(of: fences.geofences.ofServers.map(\.key)) ?? present)
    }

    /// The time of exits at a stop: the time of the stop itself.
    private func exitTime(from left: [Geofences.Item], now: BootInstant) -> Timestamp {
        if let time = sessions.stoppedAt { return time }
        // A stop from before its time was kept.
        let time = recorder.latest?.fix.time ?? hub.clock.time(now: now)
        return max(time, fences.geofences.earliest(of: left.map(\.key)) ?? time)
    }

    /// The last location that is stored, whatever fixes have shown since.
    private func lastPlace(besides fence: Geofence) -> VehicleEvent.Place {
        guard let latest = recorder.latest else {
            return VehicleEvent.Place(fence.centre, accuracy: fence.radius)
        }
        return VehicleEvent.Place(latest.fix.coordinate, accuracy: latest.fix.accuracy)
    }
}

extension Settings {
    /// Somebody hears of entries who would believe the vehicle inside until an exit comes.
    var awaitsExits: Bool {
        allDestinations.contains { destination in
            guard case .owntracks = destination.sync.format else { return false }
            return destination.sync.geofenceEvents && destination.sync.deliver == .all
        }
    }
}
