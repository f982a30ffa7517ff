internal import ControlProtocol
internal import Linux
internal import Storage
internal import Tracking

extension Handlers {
    // MARK: Geofences

    func addGeofences(_ call: Call, _ peer: Peer) throws -> Answer {
        let wanted = try call.parameters(of: Wire.AddGeofences.self).geofences
        let geofences = try wanted.map { wanted in
            do {
                return try Geofence(
                    id: wanted.id, latitude: wanted.latitude, longitude: wanted.longitude,
                    radius: wanted.radiusMeters, notifiesOnEntry: wanted.notifyOnEntry ?? true,
                    notifiesOnExit: wanted.notifyOnExit ?? true)
            } catch let error as Geofence.Invalid {
                // An id may be as long as the request; its beginning will do to find it.
                throw ControlError.invalidGeofence(
                    id: String(wanted.id.prefix(Geofence.idLimit)), reason: error.reason)
            }
        }
        log(call, peer)
        // Each waits for the disk; whole fleets' fences from clients that come and go would not fit into memory.
        let waiting = fencesWaiting.values.reduce(0, +)
        guard waiting == 0 || waiting + geofences.count <= Geofences.limit else {
            throw ControlError.rateLimited(retryAfterSeconds: 1)
        }
        let answer = try ask { .addGeofences(geofences, $0) }
        fencesWaiting[lastToken] = geofences.count
        return answer
    }

    func removeGeofences(_ call: Call, _ peer: Peer) throws -> Answer {
        let ids = try call.parameters(of: Wire.RemoveGeofences.self).ids
        log(call, peer)
        return try ask { .removeGeofences(ids, $0) }
    }

    func listGeofences(_ call: Call) throws -> Answer {
        _ = try call.parameters(of: Wire.ListGeofences.self)
        if call.more { return .geofences }
        return try ask { .listGeofences(after: nil, limit: Geofences.limit, $0) }
    }

    /// The next page for a client that lists with `more`.
    func askForGeofences(after id: String?) throws -> Token {
        _ = try ask { .listGeofences(after: id, limit: Limits.fencePage, $0) }
        return lastToken
    }

    /// The reader has finished with the fences of this call.
    func noteTaken(_ token: Token) {
        fencesWaiting[token] = nil
    }

    func geofenceEvents(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetGeofenceEvents.self)
        var cursor = History.EventCursor(from: try time(parameters.from), to: try time(parameters.to))
        if call.more { return .history(.events(cursor)) }
        let history = try openHistory()
        do {
            let events = try history.next(&cursor, limit: History.pageLimit + 1)
            guard events.count <= History.pageLimit else {
                throw ControlError.tooMany(limit: History.pageLimit)
            }
            return .reply(
                try Reply.encode(
                    Wire.GetGeofenceEvents.self, .init(events: events.map { Wire.GeofenceEvent($0) })))
        } catch let error as StorageError {
            throw ControlError.storageFailure(reason: error.message)
        }
    }

    // MARK: One-shot

    func currentLocation(_ call: Call) throws -> Answer {
        let parameters = try call.parameters(of: Wire.GetCurrentLocation.self)
        let timeout = parameters.timeoutSeconds ?? OneShots.usualTimeout
        guard OneShots.timeoutRange.contains(timeout) else {
            throw ControlError.invalidParameter("timeout_seconds")
        }
        let maxAge = parameters.maxAgeSeconds ?? 0
        guard OneShots.maxAgeRange.contains(maxAge) else {
            throw ControlError.invalidParameter("max_age_seconds")
        }
        if let accuracy = parameters.accuracyMeters, !(accuracy > 0) {
            throw ControlError.invalidParameter("accuracy_meters")
        }
        // Nobody would hear of it.
        if call.oneway { return .reply([]) }
        return try ask { token in
            .locate(
                OneShots.Request(
                    id: token, timeout: timeout, maxAge: maxAge, accuracy: parameters.accuracyMeters))
        }
    }

    /// The client has gone: who works on its answer may stop.
    func abandon(_ token: Token) {
        _ = hub.reader.post(.forget(token))
    }
}
