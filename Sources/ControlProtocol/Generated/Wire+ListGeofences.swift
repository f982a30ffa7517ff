// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// In ascending order of id. With more: pages of up to 500, with 10000 corners, the last without
    /// continues. Without more all of them in one reply, which may have several megabytes.
    package enum ListGeofences: ControlMethod {
        package static let name = "org.beekond.Tracker.ListGeofences"

        package struct Result: Codable, Sendable, Equatable {
            package var geofences: [Geofence]

            package init(geofences: [Geofence]) {
                self.geofences = geofences
            }
        }
    }
}
