// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Envelopes without rows, which say that the vehicle lives. interval_seconds: between the latest request
    /// and the next; 0: there are none. last: when the server last accepted one. next: when the next is due,
    /// unless other requests go out before. paused_until: none is sent before, because the server has
    /// answered one with refused_status, and said refused_reason.
    package struct Heartbeat: Codable, Sendable, Equatable {
        package var intervalSeconds: Double
        package var last: String?
        package var next: String?
        package var pausedUntil: String?
        package var refusedStatus: Int?
        package var refusedReason: String?

        package init(
            intervalSeconds: Double, last: String? = nil, next: String? = nil, pausedUntil: String? = nil,
            refusedStatus: Int? = nil, refusedReason: String? = nil
        ) {
            self.intervalSeconds = intervalSeconds
            self.last = last
            self.next = next
            self.pausedUntil = pausedUntil
            self.refusedStatus = refusedStatus
            self.refusedReason = refusedReason
        }

        private enum CodingKeys: String, CodingKey {
            case intervalSeconds = "interval_seconds"
            case last
            case next
            case pausedUntil = "paused_until"
            case refusedStatus = "refused_status"
            case refusedReason = "refused_reason"
        }
    }
}
