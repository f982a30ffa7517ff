package import ControlProtocol

/// What the vehicle says, as phrases.
package enum VehicleText {
    /// What `beekonctl ignition --json` prints.
    package struct Shown: Codable, Sendable {
        /// nil where nothing is configured.
        package var vehicle: Wire.VehicleStatus?

        package init(vehicle: Wire.VehicleStatus?) { self.vehicle = vehicle }
    }

    /// The answer of `beekonctl ignition`.
    package static func lines(_ vehicle: Wire.VehicleStatus?, palette: Palette) -> [String] {
        guard let vehicle else { return ["no ignition is configured (vehicle.ignition)"] }
        let error = vehicle.error.map { Text.wrap(Text.cut(Text.safe($0), to: 400), width: 76) } ?? []
        return [summary(vehicle, palette: palette)] + error.map(palette.warning)
    }

    /// Ignition and external power in a line.
    static func summary(_ vehicle: Wire.VehicleStatus, palette: Palette) -> String {
        var parts: [String] = []
        if vehicle.source != "none" {
            let word = Text.cut(Text.safe(vehicle.ignition), to: 20)
            let source = Text.cut(Text.safe(vehicle.source), to: 20)
            parts.append("ignition " + (word == "on" ? palette.good(word) : word) + " (\(source))")
        }
        if let power = vehicle.externalPower {
            parts.append(power ? "external power" : palette.warning("no external power"))
        }
        if vehicle.error != nil { parts.append(palette.warning("cannot be read")) }
        return parts.isEmpty ? "external power unknown" : parts.joined(separator: ", ")
    }
}
