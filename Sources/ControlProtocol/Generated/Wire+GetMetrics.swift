// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The status, and what is counted besides, of the same moment.
    package enum GetMetrics: ControlMethod {
        package static let name = "org.beekond.Tracker.GetMetrics"

        package struct Result: Codable, Sendable, Equatable {
            package var status: Status
            package var counters: Counters

            package init(status: Status, counters: Counters) {
                self.status = status
                self.counters = counters
            }
        }
    }
}
