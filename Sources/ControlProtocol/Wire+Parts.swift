extension Wire {
    /// gpsd and the receiver behind it. Counts are since the daemon started.
    package struct SourceStatus: Codable, Sendable, Equatable {
        /// The current state of the connection and the receiver.
        package var health: SourceHealth
        /// The receiver in use, as gpsd names it.
        package var device: String?
        /// gpsd mode of the last epoch: 0 or 1 no fix, 2 without altitude, 3 full.
        package var mode: Int
        /// Number of satellites used in the solution.
        package var satellitesUsed: Int?
        /// Number of satellites in view.
        package var satellitesVisible: Int?
        /// Whether the receiver's time has settled.
        package var timeSettled: Bool
        /// Number of fixes received.
        package var fixes: Int
        /// Number of connections to gpsd after the first.
        package var reconnects: Int
        /// Number of fix times corrected for a week rollover.
        package var rollovers: Int
        /// Number of fixes refused because of their time.
        package var refusedTimes: Int
        /// The receiver's time while its fixes are refused for it.
        package var refusedTime: String?
        /// The time of this machine's clock at that moment.
        package var refusedClock: String?

        /// Optional members default to absent.
        package init(
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
    package struct GateStatus: Codable, Sendable, Equatable {
        /// Number of fixes that became locations.
        package var admitted: Int
        /// Number of fixes dropped because of the interval.
        package var tooSoon: Int
        /// Number of fixes dropped because of the distance.
        package var tooNear: Int
        /// Number of fixes dropped while stationary.
        package var paused: Int
        /// moving, stationary or unknown.
        package var motion: String

        /// Memberwise initialiser.
        package init(
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
    package struct StoreStatus: Codable, Sendable, Equatable {
        /// Writing fails; fixes wait in memory.
        package var degraded: Bool
        /// Rows stored.
        package var locations: Int
        /// Size of the database files, in bytes.
        package var bytes: Int
        /// Locations not yet stored because writing fails.
        package var waitingInMemory: Int
        /// Rows lost to the row cap before any upload, across all restarts.
        package var droppedUnsent: Int
        /// Locations lost because storage failed and memory was full.
        package var refused: Int
        /// Rows deleted for their age while no upload was configured.
        package var pruned: Int?
        /// Dead letters deleted after their retention time.
        package var expired: Int?
        /// The message of the last failed write, and what to do.
        package var lastError: String?
        /// The state directory, without symbolic links.
        package var directory: String?

        /// Makes the value; what is left out is absent.
        package init(
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
    package struct SyncStatus: Codable, Sendable, Equatable {
        /// What it is doing.
        package var state: SyncState
        /// While `state` is failed: auth, permanent or rejected.
        package var failure: String?
        /// Number of locations stored but not acknowledged.
        package var pending: Int
        /// Fix time of the oldest of them, UTC.
        package var oldestPending: String?
        /// The batch in flight.
        package var inFlightBatch: String?
        /// UTC.
        package var lastAttempt: String?
        /// UTC.
        package var lastSuccess: String?
        /// HTTP status of the server's last answer.
        package var lastHttpStatus: Int?
        /// The last error.
        package var lastError: String?
        /// UTC.
        package var nextAttempt: String?
        /// Number of locations acknowledged.
        package var uploaded: Int
        /// Number of locations rejected permanently.
        package var rejected: Int
        /// Number of retries.
        package var retries: Int
        /// Bytes of request bodies sent.
        package var bytesSent: Int
        /// How many times in a row the next batch has failed because of its size or its time; absent: never.
        package var oversizedFailures: Int?

        /// Optional members default to absent.
        package init(
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
    package struct AuthStatus: Codable, Sendable, Equatable {
        /// none, valid, expiring, dead or breaker_open.
        package var state: String
        /// Why it is dead.
        package var reason: String?
        /// UTC.
        package var expiresAt: String?
        /// UTC.
        package var lastRefresh: String?
        /// Number of consecutive failed refreshes.
        package var failures: Int

        /// Optional members default to absent.
        package init(
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
