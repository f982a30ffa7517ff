package import ControlProtocol

/// Parts of a status as phrases, shared by the status screen and the live stream.
package enum StatusText {
    static func state(_ status: Wire.Status, clock: LocalClock, palette: Palette) -> String {
        var text =
            switch status.state {
            case .tracking: palette.good("tracking")
            case .idle: "idle (beekonctl start begins tracking)"
            case .stopped: palette.warning("stopped")
            }
        let who = decider(status.decidedBy)
        if status.state == .stopped, let reason = status.stopReason ?? status.reason {
            text += " (\(Text.cut(Text.safe(reason), to: 40))\(who.map { ": " + $0 } ?? ""))"
        }
        if status.state == .tracking, let who { text += " for \(who)," }
        guard let since = status.sessionStartedAt, status.state == .tracking else { return text }
        text += " since \(clock.local(since))"
        if let length = clock.length(from: since) { text += ", for \(length)" }
        return text
    }

    /// Whose wish decides, if it is not simply a person's.
    static func decider(_ word: String?) -> String? {
        switch word {
        case "person", nil: nil
        case "server", "schedule", "ignition": word.map { "the " + $0 }
        case let other?: Text.cut(Text.safe(other), to: 20)
        }
    }

    /// Health, receiver, fix and satellites, in at most `width` columns; the receiver's name is truncated to fit.
    package static func source(_ source: Wire.SourceStatus, width: Int = 70, palette: Palette) -> String {
        var parts: [String] = []
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
        let words =
            source.health.rawValue.split(separator: "_").joined(separator: " ")
            + (source.health == .released ? " (nothing needs fixes)" : "")
        let rest = Text.cut(parts.map { ", " + $0 }.joined(), to: width - words.count)
        let room = width - words.count - Text.columns(rest) - 2
        let device = source.device.map { Text.cutFront(Text.safe($0), to: min(room, 40)) }
        return colour(words, of: source.health, palette) + (room < 8 ? "" : device.map { ", " + $0 } ?? "")
            + rest
    }

    private static func colour(_ words: String, of health: Wire.SourceHealth, _ palette: Palette) -> String {
        switch health {
        case .ok: palette.good(words)
        case .released: words
        case .noFix, .unsettled, .stale: palette.warning(words)
        case .disconnected, .noDevice: palette.bad(words)
        }
    }

    static func syncWord(_ sync: Wire.SyncStatus) -> String {
        guard sync.state == .failed, let failure = sync.failure else { return sync.state.rawValue }
        return "failed (\(Text.cut(Text.safe(failure), to: 20)))"
    }

    /// Colours the word, or a text that starts with it, according to the state.
    static func colour(_ word: String, of sync: Wire.SyncStatus, _ palette: Palette) -> String {
        guard !word.isEmpty else { return word }
        return switch sync.state {
        case .failed: palette.bad(word)
        case .idle, .uploading: palette.good(word)
        case .deferred: palette.warning(word)
        case .disabled, .pending: word
        }
    }

    /// The state of the token, in at most `width` columns.
    package static func auth(_ auth: Wire.AuthStatus, width: Int = 70, palette: Palette) -> String {
        if auth.state == "none" { return "no token in use" }
        let count = auth.failures > 0 ? ", \(Quantity.short(auth.failures)) failed refreshes" : ""
        var text = Text.cut(Text.safe(auth.state), to: 20)
        if let reason = auth.reason {
            text += " (\(Text.cut(Text.safe(reason), to: width - Text.columns(text + count) - 3)))"
        }
        text += count
        switch auth.state {
        case "valid": return palette.good(text)
        case "dead", "breaker_open": return palette.bad(text)
        default: return text
        }
    }
}
