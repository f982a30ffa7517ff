extension Wire {
    /// Something that happened. `kind` names the one payload that is set.
    public struct Event: Codable, Sendable, Equatable {
        /// location, geofence_event, state, source, sync or auth.
        public var kind: String
        /// Events lost before this one because this subscriber was too slow.
        public var missed: Int?
        /// A location was stored.
        public var location: Location?
        /// A fence was crossed.
        public var geofenceEvent: GeofenceEvent?
        /// Tracking started or stopped.
        public var state: State?
        /// Why, with a state that is not idle: user, resumed or autostart; system is reserved.
        public var reason: String?
        /// The session of a state: under way, or the one that has ended last.
        public var sessionId: String?
        /// The source changed its health.
        public var source: SourceStatus?
        /// The uploader changed its state.
        public var sync: SyncStatus?
        /// The token changed its state.
        public var auth: AuthStatus?

        /// Makes the value; what is left out is absent.
        public init(
            kind: String, missed: Int? = nil, location: Location? = nil,
            geofenceEvent: GeofenceEvent? = nil, state: State? = nil, reason: String? = nil,
            sessionId: String? = nil, source: SourceStatus? = nil, sync: SyncStatus? = nil,
            auth: AuthStatus? = nil
        ) {
            self.kind = kind
            self.missed = missed
            self.location = location
            self.geofenceEvent = geofenceEvent
            self.state = state
            self.reason = reason
            self.sessionId = sessionId
            self.source = source
            self.sync = sync
            self.auth = auth
        }

        private enum CodingKeys: String, CodingKey {
            case kind
            case missed
            case location
            case geofenceEvent = "geofence_event"
            case state
            case reason
            case sessionId = "session_id"
            case source
            case sync
            case auth
        }
    }

    /// One configuration value.
    public struct Setting: Codable, Sendable, Equatable {
        /// Dotted, as in the file: tracking.interval_seconds.
        public var key: String
        /// The value in force; `(set)` for a secret.
        public var value: JSONValue
        /// File and line, `default` or `runtime`.
        public var origin: String

        /// Makes the value.
        public init(
            key: String, value: JSONValue, origin: String
        ) {
            self.key = key
            self.value = value
            self.origin = origin
        }

        private enum CodingKeys: String, CodingKey {
            case key
            case value
            case origin
        }
    }
}
