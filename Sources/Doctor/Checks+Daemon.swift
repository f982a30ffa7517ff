internal import ControlProtocol
internal import ControlTool

extension Checks {
    static func socket(_ facts: Facts) -> Finding {
        if let status = facts.status {
            let state = status.state == .tracking ? "tracking" : "not tracking (beekonctl start)"
            return .ok("beekond", "version \(status.version) answers, \(state)")
        }
        if facts.connection?.kind == .permissionDenied {
            return .skipped("beekond", "\(facts.user.name) may not connect to \(facts.socket)")
        }
        let message = facts.connection?.message ?? "beekond is not running: sudo systemctl start beekond"
        guard let colon = message.firstRange(of: ": ") else {
            return .failed("beekond", message, "systemctl status beekond")
        }
        return .failed("beekond", String(message[..<colon.lowerBound]), String(message[colon.upperBound...]))
    }

    static func rights(_ facts: Facts) -> Finding {
        let user = facts.user
        if user.isRoot { return .ok("rights", "root may do everything") }
        if facts.connection?.kind == .permissionDenied, user.groups.contains("beekon-admin") {
            return .failed(
                "rights", "\(user.name) is in beekon-admin, but the socket is for group beekon",
                "sudo usermod -aG beekon \(user.name), then log in again")
        }
        if user.groups.contains("beekon-admin") {
            return .ok("rights", "\(user.name) is in beekon-admin and may do everything")
        }
        if user.groups.contains("beekon") || facts.status != nil {
            return .ok(
                "rights", "\(user.name) may control; deleting and where data go need group beekon-admin")
        }
        return .failed(
            "rights", "\(user.name) is not in group beekon",
            "sudo usermod -aG beekon \(user.name), then log in again")
    }

    /// What keeps root from reading a file.
    static let powers =
        "a container, AppArmor or a file system of another machine takes root's rights: check there"

    static func configuration(_ facts: Facts) -> Finding {
        let name = "configuration"
        if case .broken(let problems) = facts.file {
            let more = problems.count > 1 ? " (and \(problems.count - 1) more)" : ""
            return .failed(
                name, (problems.first ?? "\(facts.configuration) is broken") + more,
                "correct it, then beekond --check, then sudo systemctl reload beekond")
        }
        if facts.status?.degraded.contains("config") ?? false {
            return .failed(
                name, "beekond does not run with everything that was configured",
                "beekonctl reload; journalctl -u beekond names the line or the setting if it is still bad")
        }
        switch facts.file {
        case .good(let warnings):
            guard let first = warnings.first else { return .ok(name, "\(facts.configuration) is valid") }
            return .failed(
                name, first, "change it in \(facts.configuration), then sudo systemctl reload beekond")
        case .missing: return .ok(name, "no \(facts.configuration): all settings have their defaults")
        case .elsewhere:
            return .skipped(name, "beekond uses a file elsewhere", "name the file with --config")
        case .unreadable, .broken:
            guard facts.user.isRoot else {
                return .skipped(name, "\(facts.configuration) may not be read by \(facts.user.name)")
            }
            return .skipped(name, "\(facts.configuration) cannot be read, even by root", powers)
        }
    }
}
