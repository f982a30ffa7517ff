extension Wire {
    /// Something that happened. `kind` names the only payload that is set.
    package struct Event: Codable, Sendable, Equatable {
        /// location, geofence_event, state, source, sync or auth.
        package var kind: String
        /// Number of events lost before this one because the subscriber was too slow.
        package var missed: Int?
        /// A location was stored.
        package var location: Location?
        /// A fence was crossed.
        package var geofenceEvent: GeofenceEvent?
        /// Tracking started or stopped.
        package var state: State?
        /// Why, for a state other than idle: user, resumed or autostart; system is reserved.
        package var reason: String?
        /// The session of a state: the current one, or the last one that ended.
        package var sessionId: String?
        /// The state of the source changed.
        package var source: SourceStatus?
        /// The state of the uploader changed.
        package var sync: SyncStatus?
        /// The state of the token changed.
        package var auth: AuthStatus?

        /// Optional members default to absent.
        package init(
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

    /// One setting.
    package struct Setting: Codable, Sendable, Equatable {
        /// Dotted, as in the configuration file: tracking.interval_seconds.
        package var key: String
        /// The value in effect; `(set)` for a secret.
        package var value: JSONValue
        /// File and line, `default` or `runtime`.
        package var origin: String

        /// Memberwise initialiser.
        package init(
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
