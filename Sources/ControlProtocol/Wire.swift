/// Everything transmitted over the control socket, with the names of `org.beekond.Tracker.varlink`. The namespace
/// separates these types from the daemon's own types with the same names: a `Wire.Location` is text for a reader, not
/// a basis for decisions.
///
/// All times are ISO 8601 strings in UTC with three fractional digits and a literal Z.
package enum Wire {
    /// The interface of beekond.
    package static let trackerInterface = "org.beekond.Tracker"
    /// The interface of every Varlink service.
    package static let serviceInterface = "org.varlink.service"
}

extension Wire {
    /// What the daemon is doing.
    package enum State: String, Codable, Sendable, Equatable, CaseIterable {
        /// Never started.
        case idle
        /// Admitting and storing fixes.
        case tracking
        /// Stopped by the user or by the system.
        case stopped
    }

    /// The state of the connection to gpsd and of its receiver.
    package enum SourceHealth: String, Codable, Sendable, Equatable, CaseIterable {
        /// Nothing needs fixes, so there is no connection.
        case released
        /// gpsd is not reachable.
        case disconnected
        /// gpsd has no receiver.
        case noDevice = "no_device"
        /// The receiver has no position.
        case noFix = "no_fix"
        /// There are fixes, but their time has yet to settle.
        case unsettled
        /// The receiver repeats itself or has fallen silent.
        case stale
        /// Fixes arrive and their time is settled.
        case ok
    }

    /// What the uploader is doing.
    package enum SyncState: String, Codable, Sendable, Equatable, CaseIterable {
        /// No `sync.url` is configured.
        case disabled
        /// Everything is acknowledged.
        case idle
        /// Locations are waiting for the next attempt.
        case pending
        /// A request is in progress.
        case uploading
        /// Stopped by an error that waiting alone does not resolve.
        case failed
    }
}

extension Wire {
    /// A snapshot of the daemon's state.
    package struct Status: Codable, Sendable, Equatable {
        /// Version of the daemon.
        package var version: String
        /// UUIDv7 of this installation.
        package var installId: String
        /// What it is doing.
        package var state: State
        /// Why it is not tracking, unless the user stopped it.
        package var reason: String?
        /// The session in progress.
        package var sessionId: String?
        /// UTC.
        package var sessionStartedAt: String?
        /// Seconds since the daemon started.
        package var uptimeSeconds: Int
        /// The newest location.
        package var lastLocation: Location?
        /// The receiver.
        package var source: SourceStatus
        /// The gate.
        package var gate: GateStatus
        /// The database.
        package var store: StoreStatus
        /// The uploader.
        package var sync: SyncStatus
        /// The token.
        package var auth: AuthStatus
        /// Number of fences.
        package var geofences: Int
        /// What is wrong: storage, config, clock, source, sync, auth. Empty when all is well.
        package var degraded: [String]

        /// Optional members default to absent.
        package init(
            version: String, installId: String, state: State, reason: String? = nil,
            sessionId: String? = nil, sessionStartedAt: String? = nil, uptimeSeconds: Int,
            lastLocation: Location? = nil, source: SourceStatus, gate: GateStatus, store: StoreStatus,
            sync: SyncStatus, auth: AuthStatus, geofences: Int, degraded: [String]
        ) {
            self.version = version
            self.installId = installId
            self.state = state
            self.reason = reason
            self.sessionId = sessionId
            self.sessionStartedAt = sessionStartedAt
            self.uptimeSeconds = uptimeSeconds
            self.lastLocation = lastLocation
            self.source = source
            self.gate = gate
            self.store = store
            self.sync = sync
            self.auth = auth
            self.geofences = geofences
            self.degraded = degraded
        }

        private enum CodingKeys: String, CodingKey {
            case version
            case installId = "install_id"
            case state
            case reason
            case sessionId = "session_id"
            case sessionStartedAt = "session_started_at"
            case uptimeSeconds = "uptime_seconds"
            case lastLocation = "last_location"
            case source
            case gate
            case store
            case sync
            case auth
            case geofences
            case degraded
        }
    }
}
