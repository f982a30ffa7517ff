/// What was last known of ignition and external power.
package struct StoredVehicle: SmallFileContent, Equatable {
    /// Where the ignition was known from: that of a setting.
    package var ignition: String
    /// nil while it is unknown.
    package var isOn: Bool?
    /// In which boot that was: the UUID of the kernel.
    package var boot: String
    /// The name of the supply that says whether there is external power; empty: none.
    package var supply: String
    /// Whether there was external power; nil while it is unknown.
    package var isPowered: Bool?
    /// The ids of the latest events of both kinds: newer ones were stored and not noted here any more.
    package var events: [String: String] = [:]

    package init(ignition: String, isOn: Bool?, boot: String, supply: String, isPowered: Bool?) {
        self.ignition = ignition
        self.isOn = isOn
        self.boot = boot
        self.supply = supply
        self.isPowered = isPowered
    }

    package static var fileName: String { SmallFiles.Name.vehicle }
}
