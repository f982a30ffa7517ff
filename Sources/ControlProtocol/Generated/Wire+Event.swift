// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// kind names the one payload that is set. missed: events lost before this one because this subscriber
    /// was too slow. reason, stop_reason, decided_by and session_id belong to state. reason says why it is
    /// tracking or stopped: user (a client called Start or Stop, or the server has stopped it), server (has
    /// started it), resumed (it was tracking when the daemon last ended), autostart, schedule
    /// (tracking.schedule has opened), ignition (was switched on) or system (stopped by no user:
    /// tracking.schedule has closed, or the ignition is off). stop_reason and decided_by are as in Status.
    /// session_id is the current session, or the last one that ended. destination belongs to sync, auth, http
    /// and command: whose they are. command: it was done.
    package struct Event: Codable, Sendable, Equatable {
        package var kind: String
        package var missed: Int?
        package var location: Location?
        package var geofenceEvent: GeofenceEvent?
        package var vehicleEvent: VehicleEvent?
        package var state: State?
        package var reason: String?
        package var sessionId: String?
        package var source: SourceStatus?
        package var sync: SyncStatus?
        package var auth: AuthStatus?
        package var http: HttpRequest?
        package var command: ServerCommand?
        package var destination: String?
        package var stopReason: String?
        package var decidedBy: String?

        package init(
            kind: String, missed: Int? = nil, location: Location? = nil, geofenceEvent: GeofenceEvent? = nil,
            vehicleEvent: VehicleEvent? = nil, state: State? = nil, reason: String? = nil,
            sessionId: String? = nil, source: SourceStatus? = nil, sync: SyncStatus? = nil,
            auth: AuthStatus? = nil, http: HttpRequest? = nil, command: ServerCommand? = nil,
            destination: String? = nil, stopReason: String? = nil, decidedBy: String? = nil
        ) {
            self.kind = kind
            self.missed = missed
            self.location = location
            self.geofenceEvent = geofenceEvent
            self.vehicleEvent = vehicleEvent
            self.state = state
            self.reason = reason
            self.sessionId = sessionId
            self.source = source
            self.sync = sync
            self.auth = auth
            self.http = http
            self.command = command
            self.destination = destination
            self.stopReason = stopReason
            self.decidedBy = decidedBy
        }

        private enum CodingKeys: String, CodingKey {
            case kind
            case missed
            case location
            case geofenceEvent = "geofence_event"
            case vehicleEvent = "vehicle_event"
            case state
            case reason
            case sessionId = "session_id"
            case source
            case sync
            case auth
            case http
            case command
            case destination
            case stopReason = "stop_reason"
            case decidedBy = "decided_by"
        }
    }
}
