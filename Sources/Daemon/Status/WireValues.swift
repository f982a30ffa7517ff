internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import GPSD
internal import Storage
internal import Tracking
internal import Upload

// The daemon's values in the words of the control interface.

extension Wire.Location {
    init(_ location: Location) {
        let fix = location.fix
        self.init(
            id: location.id.description, sessionId: location.session?.description,
            timestamp: fix.time.iso8601,
            trigger: location.trigger.rawValue, motion: location.motion.rawValue, isMock: fix.isMock,
            latitude: fix.coordinate.latitude, longitude: fix.coordinate.longitude, accuracy: fix.accuracy,
            speed: fix.speed, bearing: fix.bearing, altitude: fix.altitude,
            activity: location.activity?.rawValue,
            quality: location.quality?.rawValue, ignition: location.ignition)
    }
}

extension Wire.Geofence {
    init(_ item: Geofences.Item) {
        let fence = item.fence
        self.init(
            id: fence.id, latitude: fence.centre.latitude, longitude: fence.centre.longitude,
            radiusMeters: fence.radius,
            polygon: fence.polygon?.corners.map { [$0.longitude, $0.latitude] },
            notifyOnEntry: fence.notifiesOnEntry,
            notifyOnExit: fence.notifiesOnExit, dwellSeconds: fence.dwell, inside: item.isInside)
    }
}

extension Wire.GeofenceEvent {
    init(_ event: GeofenceEvent) {
        self.init(
            id: event.id.description, sessionId: event.session.description,
            geofenceId: event.crossing.geofence, type: event.crossing.kind.rawValue,
            timestamp: event.crossing.time.iso8601, reason: event.reason?.rawValue)
    }
}

extension Wire.VehicleEvent {
    init(_ event: VehicleEvent) {
        var (time, isEstimated): (Timestamp?, Bool) = (nil, false)
        if case .known(let known, let estimated) = event.time { (time, isEstimated) = (known, estimated) }
        self.init(
            id: event.id.description, sessionId: event.session.description,
            kind: event.happening.kind.rawValue, type: event.happening.type, subject: event.subject,
            timestamp: time?.iso8601, timeEstimated: isEstimated ? true : nil,
            latitude: event.place?.coordinate.latitude, longitude: event.place?.coordinate.longitude,
            accuracy: event.place?.accuracy, data: event.data.flatMap { JSONValue(json: Array($0.utf8)) })
    }

    /// An event of any kind: entries and exits are of the kind `geofence`.
    init(_ event: RecordedEvent) {
        switch event {
        case .vehicle(let event): self.init(event)
        case .crossing(let event):
            self.init(
                id: event.id.description, sessionId: event.session.description, kind: "geofence",
                type: event.crossing.kind.rawValue, subject: event.crossing.geofence,
                timestamp: event.crossing.time.iso8601, latitude: event.coordinate?.latitude,
                longitude: event.coordinate?.longitude, accuracy: event.accuracy,
                data: event.reason.flatMap {
                    JSONValue(json: Array("{\"reason\":\"\($0.rawValue)\"}".utf8))
                })
        }
    }
}

extension Wire.Event {
    init(_ location: Location) {
        self.init(kind: "location", location: Wire.Location(location))
    }

    init(_ event: GeofenceEvent) {
        self.init(kind: "geofence_event", geofenceEvent: Wire.GeofenceEvent(event))
    }

    init(_ event: VehicleEvent) {
        self.init(kind: "vehicle_event", vehicleEvent: Wire.VehicleEvent(event))
    }

    init(_ change: StateChange) {
        self.init(
            kind: "state", state: Wire.State(change.state), reason: change.reason?.rawValue,
            sessionId: change.session?.description, stopReason: change.stopReason?.rawValue,
            decidedBy: change.decidedBy?.rawValue)
    }
}

extension Wire.Rejected {
    init(_ row: RejectedRow) {
        self.init(
            location: row.location.map { Wire.Location($0) },
            geofenceEvent: row.event.flatMap {
                if case .crossing(let event) = $0 { Wire.GeofenceEvent(event) } else { nil }
            },
            vehicleEvent: row.event.flatMap {
                if case .vehicle(let event) = $0 { Wire.VehicleEvent(event) } else { nil }
            }, batchId: row.batch.description,
            httpStatus: row.httpStatus, rejectedAt: row.rejectedAt.iso8601, reason: row.reason)
    }
}

extension Wire.ServerCommand {
    init(_ record: CommandRecord) {
        let isDone = record.doneAt != nil
        self.init(
            id: record.id, command: record.name, origin: record.destination.text,
            batch: record.batch.description, state: isDone ? "done" : "received",
            receivedAt: record.receivedAt.iso8601, doneAt: record.doneAt?.iso8601,
            ok: isDone ? record.outcome.error == nil : nil, error: record.outcome.error,
            result: record.outcome.result.flatMap { JSONValue(json: Array($0.utf8)) },
            delivered: isDone ? record.isSent : nil)
    }
}

extension Wire.Event {
    init(_ record: CommandRecord) {
        self.init(
            kind: "command", command: Wire.ServerCommand(record), destination: record.destination.text)
    }
}

extension Wire.Session {
    init(_ session: SessionRecord) {
        self.init(
            id: session.id.description, startedAt: session.startedAt.iso8601,
            stoppedAt: session.stoppedAt?.iso8601,
            locations: session.locations, distanceMeters: session.distance)
    }
}

extension Wire.Place {
    init(_ place: Coordinate) {
        self.init(latitude: place.latitude, longitude: place.longitude)
    }
}

extension Wire.Trip {
    init(_ trip: Trip) {
        self.init(
            startedAt: trip.start.iso8601, endedAt: trip.end.iso8601,
            start: trip.startPlace.map { Wire.Place($0) }, end: trip.endPlace.map { Wire.Place($0) },
            distanceMeters: trip.metres, durationSeconds: trip.duration, topSpeed: trip.topSpeed,
            idleSeconds: trip.idle)
    }

    /// The one in progress.
    init(_ trip: Trips.Open) {
        self.init(
            startedAt: trip.start.time.iso8601, start: trip.start.place.map { Wire.Place($0) },
            distanceMeters: max(trip.last.odometer - trip.start.odometer, 0),
            durationSeconds: max(trip.last.time.seconds(since: trip.start.time), 0),
            topSpeed: trip.last.topSpeed, idleSeconds: max(trip.last.idle, 0))
    }
}

extension Wire.State {
    init(_ state: ReaderSnapshot.State) {
        self =
            switch state {
            case .idle: .idle
            case .tracking: .tracking
            case .stopped: .stopped
            }
    }
}

extension Wire.SourceStatus {
    init(_ snapshot: ReaderSnapshot) {
        self.init(
            health: Wire.SourceHealth(snapshot.health), device: snapshot.facts.device,
            mode: snapshot.facts.mode,
            satellitesUsed: snapshot.facts.satellitesUsed,
            satellitesVisible: snapshot.facts.satellitesVisible,
            timeSettled: snapshot.isTimeSettled, fixes: snapshot.facts.fixes,
            reconnects: snapshot.facts.reconnects, rollovers: snapshot.rollovers,
            refusedTimes: snapshot.refusedTimes, refusedTime: snapshot.refusal?.receiver.iso8601,
            refusedClock: snapshot.refusal?.clock.iso8601, repeated: snapshot.fixes.repeated)
    }
}

extension Wire.SourceHealth {
    init(_ health: SourceHealth) {
        self =
            switch health {
            case .released: .released
            case .disconnected: .disconnected
            case .noDevice: .noDevice
            case .noFix: .noFix
            case .unsettled: .unsettled
            case .stale: .stale
            case .ok: .ok
            }
    }
}

extension Wire.VehicleStatus {
    init(_ report: VehicleReport) {
        self.init(
            source: report.source.rawValue, ignition: report.isOn.map { $0 ? "on" : "off" } ?? "unknown",
            externalPower: report.hasPower, error: report.trouble)
    }
}

extension Wire.SyncStatus {
    /// - Parameters:
    ///   - commands: what is left to do for those of its server; nil: nothing.
    ///   - refusedCommands: lists of them that were refused as a whole.
    ///   - isWaiting: there is something to send.
    ///   - time: converts to the best clock known.
    init(
        _ snapshot: UploaderSnapshot, _ counts: DestinationCounts, commands: CommandCounts? = nil,
        refusedCommands: Int = 0, isWaiting: Bool, at time: (BootInstant) -> Timestamp
    ) {
        func some(_ count: Int?) -> Int? { count == 0 ? nil : count }
        let state: Wire.SyncState =
            if !snapshot.isConfigured {
                .disabled
            } else if snapshot.isUploading {
                .uploading
            } else if snapshot.failure != nil {
                .failed
            } else {
                !isWaiting ? .idle : snapshot.isDeferred ? .deferred : .pending
            }
        self.init(
            state: state, failure: state == .failed ? snapshot.failure?.rawValue : nil,
            pending: counts.pending,
            oldestPending: counts.pending > 0 ? counts.oldestPending?.iso8601 : nil,
            inFlightBatch: snapshot.inFlightBatch?.description, lastAttempt: snapshot.lastAttempt?.iso8601,
            lastSuccess: snapshot.lastSuccess?.iso8601, lastHttpStatus: snapshot.lastHTTPStatus,
            lastMqttCode: snapshot.lastMQTTCode, lastError: snapshot.deferralWarning ?? snapshot.lastError,
            nextAttempt: snapshot.nextAttempt.map { time($0).iso8601 }, uploaded: snapshot.uploaded,
            rejected: counts.rejected, retries: snapshot.retries, bytesSent: snapshot.bytesSent,
            oversizedFailures: some(snapshot.oversizedFailures),
            unmatchedAnswers: some(snapshot.unmatchedAnswers), commands: some(commands?.waiting),
            results: some(commands?.results), refusedCommands: some(refusedCommands),
            heartbeat: snapshot.heartbeat.map { Wire.Heartbeat($0, at: time) },
            lastReason: snapshot.lastReason,
            lastSuccessElsewhere: snapshot.isSuccessElsewhere ? true : nil,
            rejection: counts.rejected > 0 ? snapshot.rejection.map { Wire.Rejection($0) } : nil,
            homeAssistant: snapshot.homeAssistant)
    }
}

extension Wire.Rejection {
    init(_ refusal: Refusal) {
        self.init(
            rejectedAt: refusal.time.iso8601, httpStatus: refusal.status, reason: refusal.reason)
    }
}

extension Wire.Heartbeat {
    init(_ snapshot: HeartbeatSnapshot, at time: (BootInstant) -> Timestamp) {
        self.init(
            intervalSeconds: snapshot.interval, last: snapshot.last?.iso8601,
            next: snapshot.next.map { time($0).iso8601 },
            pausedUntil: snapshot.pausedUntil.map { time($0).iso8601 },
            refusedStatus: snapshot.pausedUntil == nil ? nil : snapshot.refusal,
            refusedReason: snapshot.pausedUntil == nil ? nil : snapshot.reason)
    }
}

extension Wire.AuthStatus {
    init(_ state: AuthState) {
        self.init(
            state: state.word.rawValue, reason: state.death?.rawValue, expiresAt: state.expiresAt?.iso8601,
            lastRefresh: state.lastRefresh?.iso8601, failures: state.failures)
    }
}

extension Wire.Setting {
    /// - Parameter overridesServer: the server has set it as well.
    init(_ entry: Loaded.Entry, overridesServer: Bool) {
        self.init(
            key: entry.key, value: JSONValue(entry.value), origin: entry.origin.description,
            overridesServer: overridesServer ? true : nil)
    }
}
