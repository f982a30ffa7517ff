// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Waits for one attempt to drain everything; with wait false it answers at once. outcome is drained,
    /// nothing_pending, transient, auth, permanent, rejected or disabled. rejected counts the rows that the
    /// server has refused for good; where it has, the outcome is rejected although all was sent or the rest
    /// waits for something that passes, which error then tells. http_status or mqtt_code, error and reason
    /// (as last_reason of SyncStatus) say how it failed, and are absent if it has not, or nobody knows. Sync,
    /// SeedAuth, RetryRejected, BackfillDestination and Resend make an attempt in spite of back-off and
    /// Retry-After, but with mode manual Sync alone does: 60 of them may come at once and one a second after
    /// that, more are RateLimited. Without destination all are asked to try, and the answer is that of main;
    /// where main has no url, the worst of the others. With all they are waited for, all of them: the outcome
    /// is the worst, destination says whose it is, and the numbers are sums. all together with destination is
    /// an error.
    package enum Sync: ControlMethod {
        package static let name = "org.beekond.Tracker.Sync"

        package struct Parameters: ControlParameters {
            package var wait: Bool?
            package var destination: String?
            package var all: Bool?

            package init(wait: Bool? = nil, destination: String? = nil, all: Bool? = nil) {
                self.wait = wait
                self.destination = destination
                self.all = all
            }

            package static let names = ["wait", "destination", "all"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var outcome: String
            package var uploaded: Int
            package var pending: Int
            package var rejected: Int?
            package var httpStatus: Int?
            package var mqttCode: Int?
            package var error: String?
            package var reason: String?
            package var destination: String?

            package init(
                outcome: String, uploaded: Int, pending: Int, rejected: Int? = nil, httpStatus: Int? = nil,
                mqttCode: Int? = nil, error: String? = nil, reason: String? = nil, destination: String? = nil
            ) {
                self.outcome = outcome
                self.uploaded = uploaded
                self.pending = pending
                self.rejected = rejected
                self.httpStatus = httpStatus
                self.mqttCode = mqttCode
                self.error = error
                self.reason = reason
                self.destination = destination
            }

            private enum CodingKeys: String, CodingKey {
                case outcome
                case uploaded
                case pending
                case rejected
                case httpStatus = "http_status"
                case mqttCode = "mqtt_code"
                case error
                case reason
                case destination
            }
        }
    }
}
