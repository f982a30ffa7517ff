internal import Base
internal import Storage
internal import Tracking

/// What happens to the vehicle besides its way.
extension Reader {
    /// Seconds for which the latest fix says where the vehicle is.
    private static let placeAge = 10.0

    /// Records an event of any kind. It is stored when this returns, unless storage fails: then it waits in memory with the
    /// fixes.
    ///
    /// - Parameters:
    ///   - subject: what it happened to, where there may be several; at most a hundred characters.
    ///   - data: what else is to be said, as made by `EventData`.
    ///   - time: `EventTime(at:boot:anchor:)` of the moment, with `events.boot` and `events.anchor(now:)`.
    ///   - place: by default where the latest fix was, if it is recent; an event without a time has none, nor one while a
    ///     person's stop holds: where the vehicle is then is for geofences of a person's alone.
    ///   - trips: the trip under way, to be stored with it; nil leaves what is stored.
    /// - Returns: its id.
    @discardableResult
    func record(
        _ happening: VehicleEvent.Happening, subject: String? = nil, data: String? = nil, at time: EventTime,
        place: VehicleEvent.Place? = nil, trips: NewTrips? = nil, now: BootInstant
    ) -> UUIDv7 {
        var moment = hub.clock.time(now: now)
        if case .known(let known, _) = time { moment = known }
        let home = eventHome(at: moment)
        let present = sessions.holdsAgainstServer ? nil : presentPlace(now: now)
        let event = VehicleEvent(
            id: pipeline.newID(at: moment), session: home.id, happening: happening, subject: subject,
            data: data, time: time, place: time.isKnown ? place ?? present : nil)
        var new = NewEvents(
            events: [], changes: [], session: home.id, sessionStartedAt: home.startedAt,
            isTracking: sessions.session != nil, extras: extras.json, time: moment, prunesByAge: false,
            vehicleEvents: [event])
        new.trips = trips
        recorder.add(new)
        if !time.isKnown { events.noteUntimed() }
        // A disk that has just failed is not tried again for every event.
        if recorder.retryAt == nil || recorder.isRetryDue(now) { flush(now: now) }
        return event.id
    }

    /// Where the vehicle is; nil when no recent fix tells.
    func presentPlace(now: BootInstant) -> VehicleEvent.Place? {
        let request = OneShots.Request(id: 0, timeout: 0, maxAge: Self.placeAge)
        return pipeline.oneShots.cachedFix(for: request, now: now).map {
            VehicleEvent.Place($0.fix.coordinate, accuracy: $0.fix.accuracy)
        }
    }

    /// The session of tracking, or the one of the events between two of them, which this begins.
    func eventHome(at time: Timestamp) -> Session {
        if let session = sessions.session ?? fences.eventSession { return session }
        let home = Session(id: pipeline.newID(at: time), startedAt: time)
        fences.eventSession = home
        return home
    }

    /// Gives the events that happened before the time was known theirs.
    func stampEvents(now: BootInstant) {
        let count = events.stamp(now: now)
        guard count > 0 else { return }
        Log.info(
            .eventRecorded, "\(count) events from before the time was known have got their times",
            [(.count, "\(count)")])
    }

    /// What is stored is told: a line each, and whoever listens.
    func tell(_ events: [VehicleEvent], toListeners hasListeners: Bool) {
        for event in events {
            let subject = event.subject.map { " (\($0))" } ?? ""
            let time = if case .known(let time, _) = event.time { time.iso8601 } else { "an unknown time" }
            Log.info(
                .eventRecorded,
                "\(event.happening.kind.rawValue): \(event.happening.type)\(subject) at \(time)",
                [(.session, event.session.description)])
            if hasListeners { outbox.post(.happened(event)) }
        }
    }
}
