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
    ) throws(Failure) {
        // Behind what waits, the entries among it.
        if recorder.waiting > 0 { flush(now: now) }
        if recorder.waiting == 0 {
            recorder.add(exits(from: left, forgetting: gone, now: now))
            // It is in the queue now, whatever becomes of the rest.
            fences.geofences.forgetStates(of: gone)
            flush(now: now)
        }
        guard recorder.waiting == 0 else {
            throw Failure(
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
        let home = eventHome(at: time)
        let events = left.map { item in
            let place = exitPlace(from: item.fence)
            return GeofenceEvent(
                id: pipeline.newID(at: time), session: home.id,
                crossing: Crossing(geofence: item.fence.id, kind: .exit, time: time),
                coordinate: place.coordinate, accuracy: place.accuracy, fenceAddedAt: item.addedAt,
                reason: .removed)
        }
        var new = NewEvents(
            events: events, changes: [], session: home.id, sessionStartedAt: home.startedAt,
            isTracking: sessions.session != nil, extras: extras.json, time: time, prunesByAge: false)
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

extension Settings {
    /// Somebody hears of entries who would believe the vehicle inside until an exit comes.
    var awaitsExits: Bool {
        allDestinations.contains { destination in
            guard case .owntracks = destination.sync.format else { return false }
            return destination.sync.geofenceEvents && destination.sync.deliver == .all
        }
    }
}
