// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Replaces fences with the same ids. Atomic: one invalid entry and none is added. The same circle or
    /// polygon again keeps its state. At most 10000 fences, whose polygons have 100000 corners together.
    package enum AddGeofences: ControlMethod {
        package static let name = "org.beekond.Tracker.AddGeofences"

        package struct Parameters: ControlParameters {
            package var geofences: [Geofence]

            package init(geofences: [Geofence]) {
                self.geofences = geofences
            }

            package static let names = ["geofences"]
        }
    }
}
