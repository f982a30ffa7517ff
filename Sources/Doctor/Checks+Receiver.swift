internal import ControlProtocol
internal import ControlTool

extension Checks {
    static func gpsd(_ facts: Facts) -> Finding {
        let place = "\(facts.gpsd.host):\(facts.gpsd.port)"
        switch facts.gpsd.contact {
        case .answered(let release): return .ok("gpsd", "release \(release) answers at \(place)")
        case .silent:
            return .failed(
                "gpsd", "\(place) accepts connections but does not talk like gpsd",
                "see gpsd.host and gpsd.port; sudo systemctl restart gpsd.socket gpsd")
        case .failed(let why):
            return .failed(
                "gpsd", "no connection to \(place): \(why)",
                "sudo apt install gpsd, sudo systemctl enable --now gpsd.socket; or correct gpsd.host and gpsd.port"
            )
        }
    }

    /// Whether nothing is known of the receiver: there is neither gpsd nor a daemon connected to it.
    private static func isUnreachable(_ facts: Facts) -> Bool {
        if case .answered = facts.gpsd.contact { return false }
        return connectedSource(facts) == nil
    }

    /// The daemon's view of the receiver; nil when it is not connected to gpsd.
    private static func connectedSource(_ facts: Facts) -> Wire.SourceStatus? {
        guard let source = facts.status?.source else { return nil }
        switch source.health {
        case .released, .disconnected: return nil
        case .noDevice, .noFix, .unsettled, .stale, .ok: return source
        }
    }

    static func device(_ facts: Facts) -> Finding {
        let name = "receiver"
        if isUnreachable(facts) { return .skipped(name, "gpsd cannot be asked") }
        if case .string(let wanted)? = facts.settings["gpsd.device"], !wanted.isEmpty,
            let devices = facts.gpsd.devices, !devices.contains(wanted)
        {
            return .failed(
                name, "gpsd.device is \(wanted), and gpsd does not have it",
                "name one of gpsd's (\(devices.joined(separator: ", "))), or leave gpsd.device empty")
        }
        if let file = facts.device, !file.exists {
            return .failed(
                name, "\(file.path) is not there",
                "plug the receiver in, or correct DEVICES in /etc/default/gpsd")
        }
        if let file = facts.device, file.group == nil {
            return .failed(
                name, "\(file.path) may be opened only by its owner",
                "sudo chgrp dialout \(file.path) && sudo chmod g+rw \(file.path): gpsd is in that group")
        }
        if let devices = facts.gpsd.devices, !devices.isEmpty {
            return .ok(name, devices.joined(separator: ", "))
        }
        if let device = connectedSource(facts)?.device { return .ok(name, device) }
        return .failed(
            name, "gpsd has no receiver",
            "plug it in, or name it in DEVICES of /etc/default/gpsd, then sudo systemctl restart gpsd")
    }

    static func modemManager(_ facts: Facts) -> Finding {
        let name = "ModemManager"
        guard let isRunning = facts.hasModemManager else {
            return .skipped(name, "whether it runs cannot be seen in /proc")
        }
        guard isRunning else { return .ok(name, "does not run, so it cannot take the port") }
        guard let device = facts.device, device.looksLikeModem else {
            return .ok(name, "runs, and the receiver is no port that it would take")
        }
        if device.isIgnored { return .ok(name, "is running, but configured to leave \(device.path) alone") }
        return .failed(
            name, "may take \(device.path) for a modem and disturb it",
            "sudo systemctl disable --now ModemManager; or a udev rule with ENV{ID_MM_DEVICE_IGNORE}=\"1\"")
    }

    static func fix(_ facts: Facts) -> Finding {
        if isUnreachable(facts) { return .skipped("fix", "gpsd cannot be asked") }
        let source = connectedSource(facts)
        if source?.health == .stale {
            return .failed(
                "fix", "the receiver repeats itself or has fallen silent", "unplug it and plug it in again")
        }
        guard let mode = source?.mode ?? facts.gpsd.mode else {
            return .failed(
                "fix", "the receiver sent nothing within some seconds",
                "gpsmon shows what it sends; check its cable and its baud rate")
        }
        switch mode {
        case 3: return .ok("fix", "three dimensions" + accuracy(facts))
        case 2: return .ok("fix", "two dimensions: no altitude" + accuracy(facts))
        default:
            return .failed(
                "fix", "the receiver has no position",
                "give its antenna a clear view of the sky; a cold start takes some minutes")
        }
    }

    private static func accuracy(_ facts: Facts) -> String {
        guard connectedSource(facts)?.health == .ok, let accuracy = facts.status?.lastLocation?.accuracy
        else { return "" }
        return ", \(Units(setting: facts.settings[Units.key]).accuracy(accuracy)) at the last location"
    }

    static func satellites(_ facts: Facts) -> Finding {
        let name = "satellites"
        if isUnreachable(facts) { return .skipped(name, "gpsd cannot be asked") }
        let source = connectedSource(facts)
        let visible = source?.satellitesVisible ?? facts.gpsd.visible
        guard let used = source?.satellitesUsed ?? facts.gpsd.used else {
            return .skipped(name, "the receiver does not tell how many it uses")
        }
        let text = visible.map { "\(used) of \($0) in use" } ?? "\(used) in use"
        guard used < 4 else { return .ok(name, text) }
        return .failed(name, text + ": four are needed", "move the antenna: glass and metal shade it")
    }

    static func receiverTime(_ facts: Facts) -> Finding {
        let name = "receiver time"
        guard let source = connectedSource(facts) else { return .skipped(name, "beekond is not listening") }
        if source.timeSettled {
            guard source.rollovers > 0 else { return .ok(name, "settled") }
            return .ok(name, "settled; \(source.rollovers) times corrected for a week rollover")
        }
        guard source.mode >= 2 else { return .skipped(name, "settles some seconds after the first fix") }
        return .failed(
            name, "not settled: its steps differ from the clock's",
            "wait ten seconds and try again; if it persists, gpsmon shows the times it sends")
    }
}
