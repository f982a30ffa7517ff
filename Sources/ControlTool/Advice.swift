internal import ControlProtocol

/// What is wrong with the daemon and what its operator can do, in one or two sentences each.
enum Advice {
    /// Empty when all is well.
    static func all(_ status: Wire.Status, clock: LocalClock) -> [String] {
        let upload = UploadAdvice(
            sync: status.sync, auth: status.auth,
            format: status.destinations.first { $0.name == DestinationNames.main }?.format)
        var advice = [store(status), source(status, clock: clock)].compactMap(\.self) + upload.urgent
        if let error = status.vehicle?.error {
            advice.append("A level of the vehicle cannot be read: \(Text.cut(Text.safe(error), to: 400)).")
        }
        if status.degraded.contains("loss") { advice += lost(status.store) }
        advice += upload.deadLetters + others(status)
        advice += status.degraded.compactMap { word in
            switch word {
            // Covered above in more detail.
            case "storage", "source", "vehicle", "sync", "auth", "loss": covered(word, advice)
            case "files":
                files(status.damagedFiles ?? [], in: status.store.directory)
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

    /// Names shown at most.
    private static let fileLimit = 5

    private static func files(_ names: [String], in directory: String?) -> String {
        let asides = names.filter { $0.contains(".corrupt-") }
        let shown = names.prefix(fileLimit).map { Text.cut(Text.safe($0), to: 80) }.joined(separator: ", ")
        let more = names.count > fileLimit ? " and \(names.count - fileLimit) more" : ""
        var advice = names.isEmpty ? "A file in the state directory" : shown + more
        if let directory, !names.isEmpty { advice += " in \(Text.cut(Text.safe(directory), to: 200))" }
        advice += ": damaged, gone, or not all of it could be read; journalctl -u beekond says what to do."
        if !asides.isEmpty {
            advice += " A database that was moved aside is shown until it is moved elsewhere or deleted."
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
                "\(Quantity.count(pruned)) locations were deleted for their age, and no backend has received them: bring "
                    + "the upload back or configure one, or raise store.retention_days and store.unsent_days."
            )
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

    private static func source(_ status: Wire.Status, clock: LocalClock) -> String? {
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
            return "gpsd is not reachable: sudo systemctl start gpsd.socket, and see gpsd.host and gpsd.port."
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

    /// Destinations other than `main`, and orphans.
    private static func others(_ status: Wire.Status) -> [String] {
        var retrying: [(name: String, advice: String)] = []
        let others = status.destinations.filter { $0.name != DestinationNames.main || $0.isAbandoned }
        let advice = others.flatMap { other -> [String] in
            let orphan = other.isAbandoned ? [orphan(other)] : []
            if other.deliver == nil, !orphan.isEmpty { return orphan }
            let upload = UploadAdvice(
                sync: other.sync, auth: other.auth, of: other.name, format: other.format)
            guard upload.isRetrying, let words = upload.retrying else {
                return upload.urgent + orphan + upload.deadLetters
            }
            retrying.append((DestinationNames(other.name).name, words))
            return [upload.token].compactMap(\.self) + orphan + upload.deadLetters
        }
        // The same sentence for each of several would push the others off the screen.
        guard retrying.count > 1 else { return advice + retrying.map(\.advice) }
        let names = retrying.map(\.name)
        return advice + [
            "The uploads to \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "") are failing at the moment and "
                + "will be retried: beekonctl doctor shows where they get stuck. Nothing is lost."
        ]
    }

    private static func orphan(_ other: Wire.Destination) -> String {
        let words = other.orphanWords
        return
            "\(DestinationNames(other.name).name) is \(words.what), and \(Quantity.count(other.sync.pending)) locations "
            + "wait for it: \(words.remedy)."
    }
}
