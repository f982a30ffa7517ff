internal import ControlProtocol

extension Checks {
    /// nil where nothing of the vehicle is configured, and without beekond: it alone sees what the service is given.
    static func vehicle(_ facts: Facts) -> Finding? {
        guard let vehicle = facts.status?.vehicle else { return nil }
        let name = "vehicle"
        guard let error = vehicle.error else { return .ok(name, summary(vehicle)) }
        let parts = error.split(separator: "; ", maxSplits: 1).map(String.init)
        if facts.hasChip == true, error.contains("no such chip"), let what = parts.first {
            return .failed(
                name, "\(what): the chip is there, but beekond is not given it",
                "install gpio-ignition.conf of the package's examples, with the path of the chip; "
                    + "after replugging the chip, sudo systemctl restart beekond")
        }
        return .failed(
            name, parts.first ?? error, parts.count > 1 ? parts[1] : "journalctl -u beekond says more")
    }

    private static func summary(_ vehicle: Wire.VehicleStatus) -> String {
        var parts: [String] = []
        if vehicle.source != "none" {
            let isUnsaid = vehicle.source == "manual" && vehicle.ignition == "unknown"
            let hint = isUnsaid ? " until somebody says it (beekonctl ignition on)" : ""
            parts.append("ignition \(vehicle.ignition)" + hint)
        }
        if let power = vehicle.externalPower { parts.append(power ? "external power" : "no external power") }
        return parts.isEmpty ? "configured" : parts.joined(separator: ", ")
    }
}
