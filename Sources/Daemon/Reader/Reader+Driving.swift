internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Storage
internal import Tracking

/// The odometer and the trips.
extension Reader {
    /// Whether the ignition is on; nil where none is configured, or its state is unknown.
    var ignition: Bool? { vehicle?.report.isOn }

    /// What the store knew of the vehicle when the daemon ended.
    func resumeDriving(now: BootInstant) throws(StorageError) {
        let stored = try hub.store.vehicle()
        let memory = odometer.begin(row: stored.odometer)
        let changes = pipeline.driving.resume(
            memory, trip: stored.trip, isTracking: sessions.session != nil)
        odometer.noteFile(in: &pipeline.driving, now: now)
        // A deletion that was interrupted.
        if work.isDeleting {
            do {
                try forgetPlaces(upTo: work.cutoff, now: now)
            } catch {
                // Then it is written with the next fix.
                pipeline.driving.forgetKept()
                Log.debug(.storageFailed, error.reason)
            }
        }
        if odometer.isRunning, link.isReleased { pipeline.driving.release() }
        if !changes.isEmpty { recorder.add(newEvents(of: changes, at: hub.clock.time(now: now))) }
    }

    /// The file beside the database is written at each stop, and hourly.
    func keepOdometer(now: BootInstant) {
        let isAtStop = link.isReleased || ignition == false || pipeline.admission.motion == .stationary
        odometer.keep(&pipeline.driving, isAtStop: isAtStop, now: now)
    }

    /// Fixes are read no more.
    func releaseDriving(now: BootInstant) {
        pipeline.driving.release()
        keepOdometer(now: now)
    }

    /// Durable when it returns.
    func setOdometer(to metres: Double, now: BootInstant) throws(CommandFailure) {
        guard var changed = pipeline.driving.odometer else {
            throw CommandFailure(
                reason: "the database has yet to say where the odometer stood; try again once storage works")
        }
        let before = changed.metres
        changed.set(metres: metres)
        try odometer.set(changed.memory)
        changed.keep(changed.memory, now: now)
        pipeline.driving.set(changed)
        let data = EventData.json([
            "odometer_meters": .number(metres.rounded()), "previous_meters": .number(before.rounded()),
        ])
        record(
            .odometerSet, data: data,
            at: EventTime(at: now, boot: events.boot, anchor: events.anchor(now: now)),
            trips: NewTrips(ended: [], open: pipeline.driving.trip), now: now)
    }

    // MARK: Trips

    /// A stay has become long enough, and no fix says so.
    func expireTrips(now: BootInstant) {
        guard pipeline.driving.trips.deadline != nil, let time = presentOfTrips(now: now) else { return }
        record(pipeline.driving.expire(at: time), now: now)
    }

    /// The ignition was switched, which begins trips and the stays between them.
    func noteIgnition(isOn: Bool, now: BootInstant) {
        if let time = presentOfTrips(now: now) {
            record(pipeline.driving.ignitionChanged(isOn: isOn, at: time), now: now)
        }
        keepOdometer(now: now)
    }

    private func record(_ changes: [Trips.Change], now: BootInstant) {
        guard !changes.isEmpty else { return }
        recorder.add(newEvents(of: changes, at: hub.clock.time(now: now)))
        if recorder.retryAt == nil || recorder.isRetryDue(now) { flush(now: now) }
    }

    /// The present by the time of the fixes; before the first fix by the clock, which says nothing about a
    /// recording.
    private func presentOfTrips(now: BootInstant) -> Timestamp? {
        pipeline.driving.time(now: now) ?? (settings.gpsd.replay ? nil : hub.clock.trusted(now: now))
    }

    /// When that is; nil while no stay has begun, or the time is not known: then the next fix ends it.
    func tripDeadline(now: BootInstant) -> BootInstant? {
        guard let deadline = pipeline.driving.trips.deadline, let time = presentOfTrips(now: now) else {
            return nil
        }
        return now.advanced(bySeconds: max(deadline.seconds(since: time), 0) + 0.1)
    }

    /// What trips that begin or end leave behind, with the one that is under way after that.
    ///
    /// - Parameter time: of the fix that tells of it, as other rows may grow old by what is written with a fix; else the present.
    func newEvents(of changes: [Trips.Change], at time: Timestamp) -> NewEvents {
        let home = eventHome(at: time)
        var ended: [Trip] = []
        let events = changes.map { change in
            switch change {
            case .started(let time, let place):
                return VehicleEvent(
                    id: pipeline.newID(at: time), session: home.id, happening: .tripStarted,
                    time: .known(time, isEstimated: false),
                    place: place.map { VehicleEvent.Place($0, accuracy: nil) })
            case .ended(let trip):
                ended.append(trip)
                return VehicleEvent(
                    id: pipeline.newID(at: trip.end), session: home.id, happening: .tripEnded,
                    data: Self.summary(of: trip), time: .known(trip.end, isEstimated: false),
                    place: trip.endPlace.map { VehicleEvent.Place($0, accuracy: nil) })
            }
        }
        var new = NewEvents(
            events: [], changes: [], session: home.id, sessionStartedAt: home.startedAt,
            isTracking: sessions.session != nil, extras: extras.json, time: time, prunesByAge: false,
            vehicleEvents: events)
        new.trips = NewTrips(ended: ended, open: pipeline.driving.trip)
        return new
    }

    /// Without places: a deletion up to a time within the trip would leave that of its start.
    private static func summary(of trip: Trip) -> String? {
        EventData.json([
            "started_at": .time(trip.start), "distance_meters": .number(trip.metres.rounded()),
            "duration_seconds": .number(trip.duration.rounded()),
            "top_speed": trip.topSpeed.map { .number($0) },
            "idle_seconds": .number(trip.idle.rounded()),
        ])
    }

    /// The daemon ends: the trip under way goes on after a restart with all of its sums.
    func storeTrip(now: BootInstant) {
        guard let trip = pipeline.driving.trip else { return }
        let session =
            sessions.session
            ?? Session(id: pipeline.newID(at: trip.open.start.time), startedAt: trip.open.start.time)
        var new = NewEvents(
            events: [], changes: [], session: session.id, sessionStartedAt: session.startedAt,
            isTracking: true, extras: nil, time: trip.open.last.time, prunesByAge: false)
        new.trips = NewTrips(ended: [], open: trip)
        recorder.add(new)
    }

    // MARK: Deletion

    /// The user deletes positions. Durable when it returns.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    func forgetPlaces(upTo cutoff: Timestamp?, now: BootInstant) throws(CommandFailure) {
        pipeline.driving.forgetPlaces(upTo: cutoff)
        // The file may be older than the present place.
        guard let present = pipeline.driving.odometer, let kept = present.keptPlace,
            cutoff.map({ kept.time <= $0 }) ?? true
        else { return }
        let memory = present.memory
        try odometer.set(memory)
        pipeline.driving.keep(memory, now: now)
    }
}

extension FixPipeline.Decision {
    /// Adds what trips have left behind to what the fix has decided about geofences.
    mutating func add(_ new: NewEvents) {
        crossings?.vehicleEvents += new.vehicleEvents
        crossings?.trips = new.trips
        crossings = crossings ?? new
    }
}
