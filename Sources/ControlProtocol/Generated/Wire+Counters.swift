// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What is counted for metrics alone, since the daemon started. Fixes: unsettled, whose time never came
    /// to be trusted; not_tracked, while nothing was tracked; refused, while storage failed and memory was
    /// full.
    package struct Counters: Codable, Sendable, Equatable {
        package var unsettled: Int
        package var notTracked: Int
        package var refused: Int
        package var requests: [RequestCount]
        package var commits: CommitTimes

        package init(
            unsettled: Int, notTracked: Int, refused: Int, requests: [RequestCount], commits: CommitTimes
        ) {
            self.unsettled = unsettled
            self.notTracked = notTracked
            self.refused = refused
            self.requests = requests
            self.commits = commits
        }

        private enum CodingKeys: String, CodingKey {
            case unsettled
            case notTracked = "not_tracked"
            case refused
            case requests
            case commits
        }
    }
}
