// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Number of locations and geofence events that are stored but not acknowledged.
    package enum GetPendingUploadCount: ControlMethod {
        package static let name = "org.beekond.Tracker.GetPendingUploadCount"

        package struct Result: Codable, Sendable, Equatable {
            package var count: Int

            package init(count: Int) {
                self.count = count
            }
        }
    }
}
