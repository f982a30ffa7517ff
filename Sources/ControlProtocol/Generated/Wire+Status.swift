// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// A snapshot of the daemon. install_id: UUIDv7 of this installation. stop_reason, while it is stopped:
    /// user (a person or the server has stopped it), or system (tracking.schedule has closed, or the ignition
    /// is off); reason is the same, for older clients. decided_by: whose wish to track or not is in force:
    /// person, server, schedule or ignition; absent before anybody has said. session_id: the session in
    /// progress. uptime_seconds: since the daemon started. odometer_meters: driven since installation, or
    /// since SetOdometer, as far as it is stored for good; absent while the database has yet to say. degraded
    /// lists problems, one word each: storage, files, loss (of rows that were never received, within the last
    /// hour), config, clock, source, vehicle, sync, auth. Empty when all is well. damaged_files, with files:
    /// the names of those in the state directory; a database that was moved aside and could not all be read
    /// is one until somebody moves or deletes it. vehicle is absent where nothing of it is configured.
    /// revision: how many changes of the settings have come into force since the start, by Configure,
    /// ResetConfig, ResetServerConfig, Reload or the server; adopted_revision: which of them tracking goes
    /// by.
    package struct Status: Codable, Sendable, Equatable {
        package var version: String
        package var installId: String
        package var state: State
        package var reason: String?
        package var stopReason: String?
        package var decidedBy: String?
        package var sessionId: String?
        package var sessionStartedAt: String?
        package var uptimeSeconds: Int
        package var lastLocation: Location?
        package var odometerMeters: Int?
        package var source: SourceStatus
        package var gate: GateStatus
        package var store: StoreStatus
        package var sync: SyncStatus
        package var auth: AuthStatus
        package var destinations: [Destination]
        package var geofences: Int
        package var vehicle: VehicleStatus?
        package var degraded: [String]
        package var damagedFiles: [String]?
        package var revision: Int?
        package var adoptedRevision: Int?

        package init(
            version: String, installId: String, state: State, reason: String? = nil,
            stopReason: String? = nil, decidedBy: String? = nil, sessionId: String? = nil,
            sessionStartedAt: String? = nil, uptimeSeconds: Int, lastLocation: Location? = nil,
            odometerMeters: Int? = nil, source: SourceStatus, gate: GateStatus, store: StoreStatus,
            sync: SyncStatus, auth: AuthStatus, destinations: [Destination], geofences: Int,
            vehicle: VehicleStatus? = nil, degraded: [String], damagedFiles: [String]? = nil,
            revision: Int? = nil, adoptedRevision: Int? = nil
        ) {
            self.version = version
            self.installId = installId
            self.state = state
            self.reason = reason
            self.stopReason = stopReason
            self.decidedBy = decidedBy
            self.sessionId = sessionId
            self.sessionStartedAt = sessionStartedAt
            self.uptimeSeconds = uptimeSeconds
            self.lastLocation = lastLocation
            self.odometerMeters = odometerMeters
            self.source = source
            self.gate = gate
            self.store = store
            self.sync = sync
            self.auth = auth
            self.destinations = destinations
            self.geofences = geofences
            self.vehicle = vehicle
            self.degraded = degraded
            self.damagedFiles = damagedFiles
            self.revision = revision
            self.adoptedRevision = adoptedRevision
        }

        private enum CodingKeys: String, CodingKey {
            case version
            case installId = "install_id"
            case state
            case reason
            case stopReason = "stop_reason"
            case decidedBy = "decided_by"
            case sessionId = "session_id"
            case sessionStartedAt = "session_started_at"
            case uptimeSeconds = "uptime_seconds"
            case lastLocation = "last_location"
            case odometerMeters = "odometer_meters"
            case source
            case gate
            case store
            case sync
            case auth
            case destinations
            case geofences
            case vehicle
            case degraded
            case damagedFiles = "damaged_files"
            case revision
            case adoptedRevision = "adopted_revision"
        }
    }
}
