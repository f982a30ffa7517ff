// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// One request of a destination, once it has ended. Without batch it is a token exchange. attempt: how
    /// many times the daemon has sent this batch since it started, this time included. status is absent when
    /// no answer came. bytes: of the body sent. outcome is accepted, rejected, unauthorised, transient or
    /// permanent (what the answer means), answered (by a token endpoint), tls, timeout, network or cancelled.
    /// body, for administrators who have named http among the kinds: up to 4096 bytes of what was sent,
    /// unpacked, with control characters escaped, or its query where it has no body; never that of a token
    /// exchange. reason: what the server said with an answer that is no acceptance, as last_reason of
    /// SyncStatus.
    package struct HttpRequest: Codable, Sendable, Equatable {
        package var batch: String?
        package var attempt: Int?
        package var status: Int?
        package var milliseconds: Int
        package var bytes: Int
        package var outcome: String
        package var body: String?
        package var reason: String?

        package init(
            batch: String? = nil, attempt: Int? = nil, status: Int? = nil, milliseconds: Int, bytes: Int,
            outcome: String, body: String? = nil, reason: String? = nil
        ) {
            self.batch = batch
            self.attempt = attempt
            self.status = status
            self.milliseconds = milliseconds
            self.bytes = bytes
            self.outcome = outcome
            self.body = body
            self.reason = reason
        }
    }
}
