internal import ControlProtocol

/// What is wrong with the daemon and what its operator can do, in one or two sentences each.
enum Advice {
    /// Empty when all is well.
    static func all(_ status: Wire.Status, clock: Clock) -> [String] {
        var advice = [store(status), source(status, clock: clock), sync(status.sync), auth(status.auth)]
            .compactMap(\.self)
        if status.degraded.contains("loss") { advice += lost(status.store) }
        advice += deadLetters(status.sync)
        advice += status.degraded.compactMap { word in
            switch word {
            // Covered above in more detail.
            case "storage", "source", "sync", "auth", "loss": covered(word, advice)
            case "files":
                "A small file in the state directory, or the database, was damaged, is gone, or could not all be read: "
                    + "journalctl -u beekond names it, and what to do."
            case "config":
                "Not everything that was configured is in effect: beekond --check names the line of a bad file, "
                    + "journalctl -u beekond a setting that was left out."
            case "clock":
                "The system clock is not set, so ages cannot be judged: "
                    + "let chrony or systemd-timesyncd set it (timedatectl shows the state)."
            default: "Degraded: \(Text.cut(Text.safe(word), to: 40)). journalctl -u beekond says why."
            }
        }
        return advice
    }

    /// Still reports the word when the rest of the status does not explain it.
    private static func covered(_ word: String, _ advice: [String]) -> String? {
        advice.isEmpty ? "Degraded: \(word). journalctl -u beekond says why." : nil
    }

    private static func store(_ status: Wire.Status) -> String? {
        let store = status.store
        guard store.degraded else { return nil }
        // The message ends with what to do.
        let error = store.lastError.map { ": " + Text.cut(Text.safe($0), to: 400) } ?? ""
        return "The database cannot be written\(error). Locations wait in memory meanwhile."
    }

    private static func lost(_ store: Wire.StoreStatus) -> [String] {
        var advice: [String] = []
        if store.droppedUnsent > 0 {
            advice.append(
                "\(Quantity.count(store.droppedUnsent)) locations were lost to the row cap before they were "
                    + "uploaded: bring the upload back, or raise store.max_rows.")
        }
        if let pruned = store.pruned, pruned > 0 {
            advice.append(
                "\(Quantity.count(pruned)) locations were deleted for their age, and no backend has received them: raise "
                    + "store.retention_days, or configure an upload.")
        }
        if store.refused > 0 {
            advice.append(
                "\(Quantity.count(store.refused)) locations were lost while the database could not "
                    + "be written."
            )
        }
        if let expired = store.expired, expired > 0 {
            advice.append(
                "\(Quantity.count(expired)) rejected locations were deleted after 7 days: look at those that are "
                    + "left (beekonctl rejected list).")
        }
        return advice
    }

    private static func source(_ status: Wire.Status, clock: Clock) -> String? {
        if let told = status.source.refusedTime, let shown = status.source.refusedClock {
            return
                "Fixes are refused for their time: the receiver says \(Text.cut(Text.safe(told), to: 24)), the clock of "
                + "this machine \(Text.cut(Text.safe(shown), to: 24)). Correct the one that is wrong; a recording needs gpsd.replay."
        }
        switch status.source.health {
        case .ok: return nil
        case .released:
            return status.state == .tracking
                ? "Tracking without a connection to gpsd: journalctl -u beekond says why." : nil
        case .disconnected:
            return "gpsd is not reachable: systemctl start gpsd.socket, and see gpsd.host and gpsd.port."
        case .noDevice:
            return
                "gpsd has no receiver: plug it in, or name it in /etc/default/gpsd. "
                + "gpsmon shows what it hears."
        case .noFix:
            return "The receiver has no position: give its antenna a clear view of the sky. "
                + "A cold start takes some minutes."
        case .unsettled:
            // Normal for the first seconds of a session.
            let age = status.sessionStartedAt.flatMap(clock.secondsSince) ?? 0
            return age < 30 ? nil : "The receiver's time does not settle: gpsmon shows what it sends."
        case .stale:
            return "The receiver repeats itself or has fallen silent: unplug it and plug it in again."
        }
    }

    private static func sync(_ sync: Wire.SyncStatus) -> String? {
        guard sync.state == .failed else { return retrying(sync) }
        let code = sync.lastHttpStatus.map { " (HTTP \($0))" } ?? ""
        let kept = "Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
        switch sync.failure {
        case "auth":
            return "The server refuses our credentials\(code): correct [sync.headers] or [sync.auth], then "
                + "beekonctl sync. \(kept)"
        case "rejected":
            return
                "The server rejects every batch\(code), so the endpoint is suspected, not the data: see its "
                + "log, then beekonctl sync. \(kept)"
        case "dead_letters_full":
            return
                "The server rejects a batch\(code), and there is no room for more dead letters: beekonctl rejected "
                + "list shows them, retry sends them again, purge deletes them. \(kept)"
        case "page":
            return
                "A page answers\(code) in the backend's place: look for a captive portal, a single-page app's fallback or "
                + "a maintenance page at sync.url, then beekonctl sync. \(kept)"
        case "no_ack":
            return
                "The answer\(code) does not acknowledge the batch, which sync.require_ack demands: let the backend "
                + "answer a JSON object with the batch_id, or set it to false. \(kept)"
        case "permanent" where isOversized(sync): return oversized(sync)
        case "permanent":
            return
                "The server's answer\(code) will not change by itself: correct sync.url, or sync.batch_size "
                + "after 413, then beekonctl sync. \(kept)"
        default: return "The upload failed\(code): journalctl -u beekond says why. \(kept)"
        }
    }

    private static func deadLetters(_ sync: Wire.SyncStatus) -> [String] {
        guard sync.rejected > 0, !["rejected", "dead_letters_full"].contains(sync.failure) else { return [] }
        return [
            "The server has rejected \(Quantity.count(sync.rejected)) locations, which are kept for 7 days: "
                + "beekonctl rejected list shows them, beekonctl rejected retry sends them again."
        ]
    }

    /// Needs no action by the operator, but is worth looking into when it persists.
    private static func retrying(_ sync: Wire.SyncStatus) -> String? {
        guard sync.lastError != nil, sync.state != .disabled, sync.pending > 0 else { return nil }
        if isOversized(sync) { return oversized(sync) }
        return
            "The upload is failing at the moment and will be retried: beekonctl doctor shows where it gets "
            + "stuck. Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
    }

    /// As many failures as the daemon requires before it lets a batch be dissolved.
    private static func isOversized(_ sync: Wire.SyncStatus) -> Bool { sync.oversizedFailures ?? 0 >= 3 }

    private static func oversized(_ sync: Wire.SyncStatus) -> String {
        "The next batch has failed \(Quantity.count(sync.oversizedFailures ?? 0)) times in a row because of its size or "
            + "its time: raise sync.timeout_seconds, or lower sync.batch_size and then beekonctl sync --rebatch. "
            + "Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
    }

    static func auth(_ auth: Wire.AuthStatus) -> String? {
        switch auth.state {
        case "dead": dead(auth.reason)
        case "breaker_open":
            "Refreshing the token fails repeatedly: see the log of the token endpoint, "
                + "sync.auth.refresh_url."
        default: nil
        }
    }

    private static func dead(_ reason: String?) -> String {
        let renew = "put a new one into [sync.auth] and beekonctl reload, or beekonctl auth seed."
        return switch reason {
        case "refused": "The token endpoint refuses to refresh the token: \(renew)"
        case "no_token":
            "The token endpoint answers without a token: correct sync.auth.refresh_url or response_mapping, then "
                + "raise sync.auth.seed_epoch or beekonctl auth seed."
        case "rotation_interrupted":
            "A refresh was cut off, and the token that it began with is refused now: \(renew)"
        case "no_refresh": "The server refuses the token, and nothing can refresh it: \(renew)"
        case "host_changed":
            "The tokens were for another host, port, scheme or http proxy, and have been dropped: \(renew)"
        case "key":
            "The stored tokens cannot be decrypted: bring the credential or the file beekond.key back and restart "
                + "beekond, or beekonctl auth seed."
        default: "The token can no longer be refreshed: \(renew)"
        }
    }
}
