// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The latest rows of a destination that were refused for good: when, with which HTTP status (0: the
    /// connection was closed without an answer), and what the server said.
    package struct Rejection: Codable, Sendable, Equatable {
        package var rejectedAt: String
        package var httpStatus: Int
        package var reason: String?

        package init(rejectedAt: String, httpStatus: Int, reason: String? = nil) {
            self.rejectedAt = rejectedAt
            self.httpStatus = httpStatus
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case rejectedAt = "rejected_at"
            case httpStatus = "http_status"
            case reason
        }
    }
}
