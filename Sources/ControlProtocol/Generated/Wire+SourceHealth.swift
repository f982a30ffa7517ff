// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The state of the connection to gpsd and of its receiver. released: nothing needs fixes, so there is no
    /// connection; disconnected: gpsd cannot be reached; no_device: gpsd has no receiver; no_fix: the
    /// receiver has no position; unsettled: there are fixes, but their time has yet to settle; stale: the
    /// receiver repeats itself or has fallen silent.
    package enum SourceHealth: String, Codable, Sendable, Equatable, CaseIterable {
        case released
        case disconnected
        case noDevice = "no_device"
        case noFix = "no_fix"
        case unsettled
        case stale
        case ok
    }
}
