/// Everything that travels over the control socket, named as in `org.beekond.Tracker.varlink`. The namespace
/// keeps these types apart from the daemon's own of the same names: a `Wire.Location` is text for a reader,
/// not a decision.
///
/// All times are ISO-8601 UTC texts with three fractional digits and a literal Z.
public enum Wire {
    /// The interface of beekond.
    public static let trackerInterface = "org.beekond.Tracker"
    /// The interface of every Varlink service.
    public static let serviceInterface = "org.varlink.service"
}

extension Wire {
    /// What the daemon is doing.
    public enum State: String, Codable, Sendable, Equatable, CaseIterable {
        /// Never started.
        case idle
        /// Admitting and storing fixes.
        case tracking
        /// Stopped by the user or by the system.
        case stopped
    }

    /// What the daemon hears from gpsd right now.
    public enum SourceHealth: String, Codable, Sendable, Equatable, CaseIterable {
        /// Nothing needs fixes, so no connection is held.
        case released
        /// gpsd is not reachable.
        case disconnected
        /// gpsd has no receiver.
        case noDevice = "no_device"
        /// The receiver has no position.
        case noFix = "no_fix"
        /// Fixes come, their time has yet to prove itself.
        case unsettled
        /// The receiver repeats itself or has fallen silent.
        case stale
        /// Fixes come.
        case ok
    }

    /// What the uploader is doing.
    public enum SyncState: String, Codable, Sendable, Equatable, CaseIterable {
        /// No `sync.url` is configured.
        case disabled
        /// Everything is acknowledged.
        case idle
        /// Locations wait for the next attempt.
        case pending
        /// A request is under way.
        case uploading
        /// Stopped by something that waiting alone does not mend.
        case failed
    }
}

extension Wire {
    /// Everything about the daemon at one moment.
    public struct Status: Codable, Sendable, Equatable {
        /// Of the daemon.
        public var version: String
        /// UUIDv7 of this installation.
        public var installId: String
        /// What it is doing.
        public var state: State
        /// Why it is not tracking, when the user did not stop it.
        public var reason: String?
        /// The session under way.
        public var sessionId: String?
        /// UTC.
        public var sessionStartedAt: String?
        /// Since the daemon started, in seconds.
        public var uptimeSeconds: Int
        /// The newest location.
        public var lastLocation: Location?
        /// The receiver.
        public var source: SourceStatus
        /// The gate.
        public var gate: GateStatus
        /// The database.
        public var store: StoreStatus
        /// The uploader.
        public var sync: SyncStatus
        /// The token.
        public var auth: AuthStatus
        /// Fences registered.
        public var geofences: Int
        /// What is wrong: storage, config, clock, source, sync, auth. Empty on a good day.
        public var degraded: [String]

        /// Makes the value; what is left out is absent.
        public init(
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
