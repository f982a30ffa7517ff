// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Replaces the whole map: afterwards GetExtras returns exactly this. Persistent; only what differs from
    /// the configuration is stored, and overrides it name by name. At most 64 entries, names of 1 to 100
    /// bytes, texts of up to 1024.
    package enum SetExtras: ControlMethod {
        package static let name = "org.beekond.Tracker.SetExtras"

        package struct Parameters: ControlParameters {
            package var extras: [String: String]

            package init(extras: [String: String]) {
                self.extras = extras
            }

            package static let names = ["extras"]
        }
    }
}
