extension Wire {
    /// gpsd and the receiver behind it. Counts are since the daemon started.
    public struct SourceStatus: Codable, Sendable, Equatable {
        /// The current state of the connection and the receiver.
        public var health: SourceHealth
        /// The receiver in use, as gpsd names it.
        public var device: String?
        /// gpsd mode of the last epoch: 0 or 1 no fix, 2 without altitude, 3 full.
        public var mode: Int
        /// Number of satellites used in the solution.
        public var satellitesUsed: Int?
        /// Number of satellites in view.
        public var satellitesVisible: Int?
        /// Whether the receiver's time has settled.
        public var timeSettled: Bool
        /// Number of fixes received.
        public var fixes: Int
        /// Number of connections to gpsd after the first.
        public var reconnects: Int
        /// Number of fix times corrected for a week rollover.
        public var rollovers: Int
        /// Number of fixes refused because of their time.
        public var refusedTimes: Int
        /// The receiver's time while its fixes are refused for it.
        public var refusedTime: String?
        /// The time of this machine's clock at that moment.
        public var refusedClock: String?

        /// Optional members default to absent.
        public init(
            health: SourceHealth, device: String? = nil, mode: Int, satellitesUsed: Int? = nil,
            satellitesVisible: Int? = nil, timeSettled: Bool, fixes: Int, reconnects: Int, rollovers: Int,
            refusedTimes: Int, refusedTime: String? = nil, refusedClock: String? = nil
        ) {
            self.health = health
            self.device = device
            self.mode = mode
            self.satellitesUsed = satellitesUsed
            self.satellitesVisible = satellitesVisible
            self.timeSettled = timeSettled
            self.fixes = fixes
            self.reconnects = reconnects
            self.rollovers = rollovers
            self.refusedTimes = refusedTimes
            self.refusedTime = refusedTime
            self.refusedClock = refusedClock
        }

        private enum CodingKeys: String, CodingKey {
            case health
            case device
            case mode
            case satellitesUsed = "satellites_used"
            case satellitesVisible = "satellites_visible"
            case timeSettled = "time_settled"
            case fixes
            case reconnects
            case rollovers
            case refusedTimes = "refused_times"
            case refusedTime = "refused_time"
            case refusedClock = "refused_clock"
        }
    }

    /// Decisions of the gate since the daemon started.
    public struct GateStatus: Codable, Sendable, Equatable {
        /// Number of fixes that became locations.
        public var admitted: Int
        /// Number of fixes dropped because of the interval.
        public var tooSoon: Int
        /// Number of fixes dropped because of the distance.
        public var tooNear: Int
        /// Number of fixes dropped while stationary.
        public var paused: Int
        /// moving, stationary or unknown.
        public var motion: String

        /// Memberwise initialiser.
        public init(
            admitted: Int, tooSoon: Int, tooNear: Int, paused: Int, motion: String
        ) {
            self.admitted = admitted
            self.tooSoon = tooSoon
            self.tooNear = tooNear
            self.paused = paused
            self.motion = motion
        }

        private enum CodingKeys: String, CodingKey {
            case admitted
            case tooSoon = "too_soon"
            case tooNear = "too_near"
            case paused
            case motion
        }
    }

    /// The database.
    public struct StoreStatus: Codable, Sendable, Equatable {
        /// Writing fails; fixes wait in memory.
        public var degraded: Bool
        /// Rows stored.
        public var locations: Int
        /// Size of the database files, in bytes.
        public var bytes: Int
        /// Locations not yet stored because writing fails.
        public var waitingInMemory: Int
        /// Rows lost to the row cap before any upload, across all restarts.
        public var droppedUnsent: Int
        /// Locations lost because storage failed and memory was full.
        public var refused: Int
        /// Rows deleted for their age while no upload was configured.
        public var pruned: Int?
        /// Dead letters deleted after their retention time.
        public var expired: Int?
        /// The message of the last failed write, and what to do.
        public var lastError: String?
        /// The state directory, without symbolic links.
        public var directory: String?

        /// Makes the value; what is left out is absent.
        public init(
            degraded: Bool, locations: Int, bytes: Int, waitingInMemory: Int, droppedUnsent: Int,
            refused: Int, pruned: Int? = nil, expired: Int? = nil, lastError: String? = nil,
            directory: String? = nil
        ) {
            self.degraded = degraded
            self.locations = locations
            self.bytes = bytes
            self.waitingInMemory = waitingInMemory
            self.droppedUnsent = droppedUnsent
            self.refused = refused
            self.pruned = pruned
            self.expired = expired
            self.lastError = lastError
            self.directory = directory
        }

        private enum CodingKeys: String, CodingKey {
            case degraded
            case locations
            case bytes
            case waitingInMemory = "waiting_in_memory"
            case droppedUnsent = "dropped_unsent"
            case refused
            case pruned
            case expired
            case lastError = "last_error"
            case directory
        }
    }

    /// The uploader. Counts are since the daemon started.
    public struct SyncStatus: Codable, Sendable, Equatable {
        /// What it is doing.
        public var state: SyncState
        /// While `state` is failed: auth, permanent or rejected.
        public var failure: String?
        /// Number of locations stored but not acknowledged.
        public var pending: Int
        /// Fix time of the oldest of them, UTC.
        public var oldestPending: String?
        /// The batch in flight.
        public var inFlightBatch: String?
        /// UTC.
        public var lastAttempt: String?
        /// UTC.
        public var lastSuccess: String?
        /// HTTP status of the server's last answer.
        public var lastHttpStatus: Int?
        /// The last error.
        public var lastError: String?
        /// UTC.
        public var nextAttempt: String?
        /// Number of locations acknowledged.
        public var uploaded: Int
        /// Number of locations rejected permanently.
        public var rejected: Int
        /// Number of retries.
        public var retries: Int
        /// Bytes of request bodies sent.
        public var bytesSent: Int
        /// How many times in a row the next batch has failed because of its size or its time; absent: never.
        public var oversizedFailures: Int?

        /// Optional members default to absent.
        public init(
            state: SyncState, failure: String? = nil, pending: Int, oldestPending: String? = nil,
            inFlightBatch: String? = nil, lastAttempt: String? = nil, lastSuccess: String? = nil,
            lastHttpStatus: Int? = nil, lastError: String? = nil, nextAttempt: String? = nil, uploaded: Int,
            rejected: Int, retries: Int, bytesSent: Int, oversizedFailures: Int? = nil
        ) {
            self.state = state
            self.failure = failure
            self.pending = pending
            self.oldestPending = oldestPending
            self.inFlightBatch = inFlightBatch
            self.lastAttempt = lastAttempt
            self.lastSuccess = lastSuccess
            self.lastHttpStatus = lastHttpStatus
            self.lastError = lastError
            self.nextAttempt = nextAttempt
            self.uploaded = uploaded
            self.rejected = rejected
            self.retries = retries
            self.bytesSent = bytesSent
            self.oversizedFailures = oversizedFailures
        }

        private enum CodingKeys: String, CodingKey {
            case state
            case failure
            case pending
            case oldestPending = "oldest_pending"
            case inFlightBatch = "in_flight_batch"
            case lastAttempt = "last_attempt"
            case lastSuccess = "last_success"
            case lastHttpStatus = "last_http_status"
            case lastError = "last_error"
            case nextAttempt = "next_attempt"
            case uploaded
            case rejected
            case retries
            case bytesSent = "bytes_sent"
            case oversizedFailures = "oversized_failures"
        }
    }

    /// The state of the token; never the token itself.
    public struct AuthStatus: Codable, Sendable, Equatable {
        /// none, valid, expiring, dead or breaker_open.
        public var state: String
        /// Why it is dead.
        public var reason: String?
        /// UTC.
        public var expiresAt: String?
        /// UTC.
        public var lastRefresh: String?
        /// Number of consecutive failed refreshes.
        public var failures: Int

        /// Optional members default to absent.
        public init(
            state: String, reason: String? = nil, expiresAt: String? = nil, lastRefresh: String? = nil,
            failures: Int
        ) {
            self.state = state
            self.reason = reason
            self.expiresAt = expiresAt
            self.lastRefresh = lastRefresh
            self.failures = failures
        }

        private enum CodingKeys: String, CodingKey {
            case state
            case reason
            case expiresAt = "expires_at"
            case lastRefresh = "last_refresh"
            case failures
        }
    }
}
