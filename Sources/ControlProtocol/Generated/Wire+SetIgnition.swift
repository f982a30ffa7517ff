// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Somebody says whether the ignition is on: a person, a udev rule, a UPS program. Kept, with its event,
    /// when it answers; what holds already changes nothing. InvalidConfiguration unless vehicle.ignition is
    /// manual.
    package enum SetIgnition: ControlMethod {
        package static let name = "org.beekond.Tracker.SetIgnition"

        package struct Parameters: ControlParameters {
            package var on: Bool

            package init(on: Bool) {
                self.on = on
            }

            package static let names = ["on"]
        }
    }
}
