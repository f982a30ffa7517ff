// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The uploader. uploaded, retries and bytes_sent (of request bodies) are since the daemon started.
    /// pending, uploaded and rejected count locations and geofence events. oldest_pending is a fix time.
    /// failure is auth, permanent, rejected, dead_letters_full (a rejected batch has no room among the dead
    /// letters), page (a page answered 200 in place of the backend), php_error (PHP printed an error before
    /// its answer), no_ack (sync.require_ack) or refused (a 2xx does not say that the batch was taken:
    /// sync.accept_member) while state is failed. last_mqtt_code is the reason code of an MQTT broker, in
    /// place of an HTTP status. rejected counts the dead letters that are kept. oversized_failures counts how
    /// many times in a row the next batch has failed because of its size or its time; absent if it has not.
    /// unmatched_answers counts, since the daemon started, the answers that did not belong to the request
    /// under way, and were not believed; absent if there were none. commands counts those of its server that
    /// have yet to be run, results those that have yet to be sent, refused_commands the lists of its commands
    /// that were refused as a whole since the daemon started; each is absent if there are none. heartbeat is
    /// absent where there are no heartbeats. last_reason is what the server said with the latest answer that
    /// was no acceptance: title, detail, pointer and index of a problem (RFC 9457), else message, error or
    /// reason of a JSON object, else the first 200 printable characters of a text, without secrets; absent if
    /// it said nothing. last_success_elsewhere true: that was at another url than the present one. rejection
    /// is about the newest of the dead letters that are kept. home_assistant: why Home Assistant could not be
    /// told of the vehicle, or why a broker has yet to remove what it was told; absent if all is well.
    package struct SyncStatus: Codable, Sendable, Equatable {
        package var state: SyncState
        package var failure: String?
        package var pending: Int
        package var oldestPending: String?
        package var inFlightBatch: String?
        package var lastAttempt: String?
        package var lastSuccess: String?
        package var lastHttpStatus: Int?
        package var lastMqttCode: Int?
        package var lastError: String?
        package var nextAttempt: String?
        package var uploaded: Int
        package var rejected: Int
        package var retries: Int
        package var bytesSent: Int
        package var oversizedFailures: Int?
        package var unmatchedAnswers: Int?
        package var commands: Int?
        package var results: Int?
        package var refusedCommands: Int?
        package var heartbeat: Heartbeat?
        package var lastReason: String?
        package var lastSuccessElsewhere: Bool?
        package var rejection: Rejection?
        package var homeAssistant: String?

        package init(
            state: SyncState, failure: String? = nil, pending: Int, oldestPending: String? = nil,
            inFlightBatch: String? = nil, lastAttempt: String? = nil, lastSuccess: String? = nil,
            lastHttpStatus: Int? = nil, lastMqttCode: Int? = nil, lastError: String? = nil,
            nextAttempt: String? = nil, uploaded: Int, rejected: Int, retries: Int, bytesSent: Int,
            oversizedFailures: Int? = nil, unmatchedAnswers: Int? = nil, commands: Int? = nil,
            results: Int? = nil, refusedCommands: Int? = nil, heartbeat: Heartbeat? = nil,
            lastReason: String? = nil, lastSuccessElsewhere: Bool? = nil, rejection: Rejection? = nil,
            homeAssistant: String? = nil
        ) {
            self.state = state
            self.failure = failure
            self.pending = pending
            self.oldestPending = oldestPending
            self.inFlightBatch = inFlightBatch
            self.lastAttempt = lastAttempt
            self.lastSuccess = lastSuccess
            self.lastHttpStatus = lastHttpStatus
            self.lastMqttCode = lastMqttCode
            self.lastError = lastError
            self.nextAttempt = nextAttempt
            self.uploaded = uploaded
            self.rejected = rejected
            self.retries = retries
            self.bytesSent = bytesSent
            self.oversizedFailures = oversizedFailures
            self.unmatchedAnswers = unmatchedAnswers
            self.commands = commands
            self.results = results
            self.refusedCommands = refusedCommands
            self.heartbeat = heartbeat
            self.lastReason = lastReason
            self.lastSuccessElsewhere = lastSuccessElsewhere
            self.rejection = rejection
            self.homeAssistant = homeAssistant
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
            case lastMqttCode = "last_mqtt_code"
            case lastError = "last_error"
            case nextAttempt = "next_attempt"
            case uploaded
            case rejected
            case retries
            case bytesSent = "bytes_sent"
            case oversizedFailures = "oversized_failures"
            case unmatchedAnswers = "unmatched_answers"
            case commands
            case results
            case refusedCommands = "refused_commands"
            case heartbeat
            case lastReason = "last_reason"
            case lastSuccessElsewhere = "last_success_elsewhere"
            case rejection
            case homeAssistant = "home_assistant"
        }
    }
}
