// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What the vehicle says. source: where the ignition is known from: none, gpio, power_supply or manual.
    /// ignition: on, off or unknown. external_power is absent where none is configured, and while it is not
    /// known. error: why one of them cannot be read, and what to do.
    package struct VehicleStatus: Codable, Sendable, Equatable {
        package var source: String
        package var ignition: String
        package var externalPower: Bool?
        package var error: String?

        package init(source: String, ignition: String, externalPower: Bool? = nil, error: String? = nil) {
            self.source = source
            self.ignition = ignition
            self.externalPower = externalPower
            self.error = error
        }

        private enum CodingKeys: String, CodingKey {
            case source
            case ignition
            case externalPower = "external_power"
            case error
        }
    }
}
