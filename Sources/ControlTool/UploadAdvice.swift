internal import ControlProtocol

/// What is wrong with the upload to one destination and what the operator can do, in one or two sentences each.
struct UploadAdvice {
    private let sync: Wire.SyncStatus
    private let auth: Wire.AuthStatus
    private let names: DestinationNames
    /// nil: not known.
    private let format: String?
    /// A request has one row, so that there is no batch to be made smaller.
    private var isOneRow: Bool { ["owntracks", "osmand"].contains(format) }

    /// - Parameter format: of the destination; nil: not known.
    init(sync: Wire.SyncStatus, auth: Wire.AuthStatus, of name: String? = nil, format: String? = nil) {
        self.format = format
        self.sync = sync
        self.auth = auth
        names = DestinationNames(name)
    }

    /// The upload first, then the token. Empty when all is well.
    var urgent: [String] { [upload, token, heartbeat].compactMap(\.self) }

    private var heartbeat: String? {
        guard sync.heartbeat?.pausedUntil != nil else { return nil }
        let code = ServerWords.suffix(sync.heartbeat?.refusedStatus, sync.heartbeat?.refusedReason)
        return
            "\(names.capitalisedServer) refuses heartbeats\(code), which are left out for a day: let it accept a batch "
            + "without locations, or set \(names.table).heartbeat_seconds to 0. Locations go on as before."
    }

    private var upload: String? {
        guard sync.state == .failed else { return retrying }
        if let code = sync.lastMqttCode { return refused(by: code) }
        let code = ServerWords.suffix(sync.lastHttpStatus, sync.lastReason)
        let kept =
            sync.pending > 0
            ? "Nothing is lost: \(Quantity.count(sync.pending)) locations are kept." : "Nothing is lost."
        let again = "then \(names.sync). \(kept)"
        switch sync.failure {
        case "auth":
            return
                "\(names.capitalisedServer) refuses our credentials\(code): correct "
                + "\(names.credentials(format: format)), \(again)"
        case "rejected":
            return
                "\(names.capitalisedServer) rejects every batch\(code), so the endpoint is suspected, not the data: see "
                + "its log, \(again)"
        case "dead_letters_full":
            return
                "\(names.capitalisedServer) rejects a batch\(code), and there is no room for more dead letters: beekonctl "
                + "rejected list\(names.option) shows them, retry sends them again, purge deletes them. \(kept)"
        case "page":
            return
                "A page answers\(code) in the backend's place: look for a captive portal, a single-page app's fallback or "
                + "a maintenance page at \(names.table).url, \(again)"
        case "php_error":
            return
                "PHP printed an error before its answer\(code), so nobody knows whether the batch was stored: see its log at "
                + "\(names.server), set display_errors to Off there, \(again)"
        case "refused":
            return
                "The answer\(code) does not say that the batch was taken: see the log of \(names.server), correct its token, "
                + "\(names.table).url or \(names.table).accept_member, \(again)"
        case "no_ack":
            return
                "The answer\(code) does not acknowledge the batch, which \(names.table).require_ack demands: let the "
                + "backend answer a JSON object with the batch_id, or set it to false. \(kept)"
        case "permanent" where isOversized: return oversized
        case "permanent":
            let batch = isOneRow ? "" : "or \(names.table).batch_size after 413, "
            return
                "The answer\(code) of \(names.server) stays the same on every retry: correct \(names.table).url, "
                + batch + again
        default: return "\(names.upload) failed\(code): journalctl -u beekond says why. \(kept)"
        }
    }

    /// What a broker has said.
    private func refused(by code: Int) -> String {
        let kept = "Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
        guard sync.failure == "auth" else {
            return
                "\(names.capitalisedBroker) refuses a message (MQTT \(code)), which retrying will not change: journalctl "
                + "-u beekond says why. \(kept)"
        }
        return
            "\(names.capitalisedBroker) refuses our login or our topic (MQTT \(code)): correct \(names.table).username, "
            + "password or device_id, the client_certificate, or the broker's access list, then \(names.sync). \(kept)"
    }

    /// Dead letters that nothing else explains.
    var deadLetters: [String] {
        guard sync.rejected > 0, !["rejected", "dead_letters_full"].contains(sync.failure) else { return [] }
        // 0: the connection was closed without an answer.
        let status = sync.rejection?.httpStatus
        let why = ServerWords.suffix(status == 0 ? nil : status, sync.rejection?.reason)
        return [
            "\(names.capitalisedServer) has rejected \(Quantity.count(sync.rejected)) locations\(why), which are kept for 7 "
                + "days: beekonctl rejected list\(names.option) shows them, beekonctl rejected retry\(names.option) "
                + "sends them again."
        ]
    }

    /// Uploads fail, and there is nothing to say but that.
    var isRetrying: Bool {
        hasTrouble && sync.state != .failed && sync.state != .deferred && !isOversized
            && sync.lastMqttCode != 16
    }

    private var hasTrouble: Bool { sync.lastError != nil && sync.state != .disabled && sync.pending > 0 }

    /// Needs no action by the operator, but is worth looking into when it persists.
    var retrying: String? {
        if sync.state == .deferred {
            guard sync.lastError != nil else { return nil }
            return
                "\(names.upload) waits for a route that is not metered, and \(Quantity.count(sync.pending)) locations come "
                + "near the cap (store.max_rows), beyond which the oldest are lost: \(names.sync) sends them now."
        }
        guard hasTrouble else { return nil }
        if isOversized { return oversized }
        if sync.lastMqttCode == 16 { return unsubscribed }
        return
            "\(names.upload) is failing at the moment and will be retried: beekonctl doctor shows where it gets "
            + "stuck. Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
    }

    /// Accepted, and dropped.
    private var unsubscribed: String {
        "\(names.capitalisedBroker) keeps nothing, because nobody subscribes to the topic (MQTT 16): start the recorder "
            + "with a fixed --clientid, or set \(names.table).accept_unsubscribed. Nothing is lost: "
            + "\(Quantity.count(sync.pending)) locations are kept."
    }

    /// Whether the batch has failed as often as the daemon requires before it may be dissolved.
    private var isOversized: Bool { sync.oversizedFailures ?? 0 >= 3 }

    private var oversized: String {
        let batch =
            isOneRow ? "" : ", or lower \(names.table).batch_size and then \(names.sync) --rebatch"
        return
            "\(names.nextBatch) has failed \(Quantity.count(sync.oversizedFailures ?? 0)) times in a row because "
            + "of its size or its time: raise \(names.table).timeout_seconds\(batch). Nothing is lost: \(Quantity.count(sync.pending)) locations are kept."
    }

    /// What is wrong with the token; nil when nothing is.
    var token: String? {
        switch auth.state {
        case "dead": dead
        case "breaker_open":
            "Refreshing the token fails repeatedly: see the log of the token endpoint, \(names.table).auth.refresh_url."
        default: nil
        }
    }

    private var dead: String {
        let seed = "beekonctl auth seed" + names.option
        let renew = "put a new one into [\(names.table).auth] and beekonctl reload, or \(seed)."
        return switch auth.reason {
        case "refused": "The token endpoint refuses to refresh the token: \(renew)"
        case "no_token":
            "The token endpoint answers without a token: correct \(names.table).auth.refresh_url or response_mapping, "
                + "then raise \(names.table).auth.seed_epoch or \(seed)."
        case "rotation_interrupted":
            "A refresh was cut off, and the token that it began with is refused now: \(renew)"
        case "no_refresh":
            "\(names.capitalisedServer) refuses the token, and nothing can refresh it: \(renew)"
        case "host_changed":
            "The tokens were for another host, port, scheme or http proxy, and have been dropped: \(renew)"
        case "key":
            "The stored tokens cannot be read or decrypted: mend what the log names (the disk, who owns the file, the "
                + "credential or the file beekond.key), or \(seed)."
        default: "The token can no longer be refreshed: \(renew)"
        }
    }
}
