// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Requests of one destination since the daemon started. code is an HTTP status, mqtt_ with the reason
    /// code of a broker, or tls, timeout or network, where no answer came. Token exchanges are not among
    /// them.
    package struct RequestCount: Codable, Sendable, Equatable {
        package var destination: String
        package var code: String
        package var count: Int

        package init(destination: String, code: String, count: Int) {
            self.destination = destination
            self.code = code
            self.count = count
        }
    }
}
