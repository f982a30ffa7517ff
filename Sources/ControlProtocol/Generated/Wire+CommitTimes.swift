// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// How long the database took to make writes permanent, since the daemon started. counts has one more
    /// element than bounds: how many took at most as many seconds as the bound of the same place, but more
    /// than the one before it; last, how many took longer.
    package struct CommitTimes: Codable, Sendable, Equatable {
        package var bounds: [Double]
        package var counts: [Int]
        package var seconds: Double

        package init(bounds: [Double], counts: [Int], seconds: Double) {
            self.bounds = bounds
            self.counts = counts
            self.seconds = seconds
        }
    }
}
