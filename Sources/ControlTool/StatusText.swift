public import ControlProtocol

/// The parts of a status as phrases, shared by the screen and the live stream.
public enum StatusText {
    static func state(_ status: Wire.Status, clock: Clock, palette: Palette) -> String {
        var text =
            switch status.state {
            case .tracking: palette.good("tracking")
            case .idle: "idle (beekonctl start begins tracking)"
            case .stopped: palette.warning("stopped")
            }
        if let reason = status.reason { text += " (\(Text.cut(Text.safe(reason), to: 40)))" }
        guard let since = status.sessionStartedAt, status.state == .tracking else { return text }
        text += " since \(clock.local(since))"
        if let length = clock.length(from: since) { text += ", for \(length)" }
        return text
    }

    /// Health, receiver, fix and satellites.
    public static func source(_ source: Wire.SourceStatus, palette: Palette) -> String {
        var parts = [health(source.health, palette: palette)]
        if let device = source.device { parts.append(Text.cut(Text.safe(device), to: 30)) }
        switch source.mode {
        case 3: parts.append("3D fix")
        case 2: parts.append("2D fix")
        default: break
        }
        switch (source.satellitesUsed, source.satellitesVisible) {
        case (let used?, let visible?): parts.append("\(used) of \(visible) satellites")
        case (let used?, nil): parts.append("\(used) satellites")
        case (nil, let visible?): parts.append("\(visible) satellites in sight")
        case (nil, nil): break
        }
        return parts.joined(separator: ", ")
    }

    private static func health(_ health: Wire.SourceHealth, palette: Palette) -> String {
        let words = health.rawValue.split(separator: "_").joined(separator: " ")
        return switch health {
        case .ok: palette.good(words)
        case .released: words + " (nothing needs fixes)"
        case .noFix, .unsettled, .stale: palette.warning(words)
        case .disconnected, .noDevice: palette.bad(words)
        }
    }

    static func syncState(_ sync: Wire.SyncStatus, palette: Palette) -> String {
        switch sync.state {
        case .failed:
            palette.bad("failed" + (sync.failure.map { " (\(Text.cut(Text.safe($0), to: 20)))" } ?? ""))
        case .idle, .uploading: palette.good(sync.state.rawValue)
        case .disabled, .pending: sync.state.rawValue
        }
    }

    /// What is known about the token.
    public static func auth(_ auth: Wire.AuthStatus, palette: Palette) -> String {
        var text = Text.safe(auth.state)
        if let reason = auth.reason { text += " (\(Text.cut(Text.safe(reason), to: 40)))" }
        if auth.failures > 0 { text += ", \(auth.failures) failed refreshes" }
        switch auth.state {
        case "valid": return palette.good(text)
        case "dead", "breaker_open": return palette.bad(text)
        default: return text
        }
    }
}
