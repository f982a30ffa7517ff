package import ControlProtocol

/// The outcome of an upload run.
package enum SyncOutcome {
    /// The exit code of `sync`; 0 when nothing is left to do, and nothing was refused on the way.
    package static func exitCode(_ outcome: String) -> Int32 {
        switch outcome {
        case "drained", "nothing_pending": 0
        case "transient": 75
        case "auth": 77
        case "rejected": 65
        case "permanent": 76
        case "disabled": 78
        default: 70
        }
    }

    /// One sentence for the user.
    ///
    /// - Parameters:
    ///   - destination: the one that was named, if any.
    ///   - url: of that one, as it may be shown; nil: not known.
    package static func text(
        _ result: Wire.Sync.Result, of destination: String? = nil, url: String? = nil
    ) -> String {
        let names = DestinationNames(destination)
        let left = "\(Quantity.count(result.uploaded)) uploaded, \(pending(result))"
        let code = ServerWords.code(result.httpStatus, result.reason)
        let said = code.map { " (\($0))" } ?? ""
        return outcome(result, names, code, said, left, url) + refusedBesides(result, names)
    }

    private static func outcome(
        _ result: Wire.Sync.Result, _ names: DestinationNames, _ code: String?, _ said: String,
        _ left: String, _ url: String?
    ) -> String {
        switch result.outcome {
        case "drained": "\(Quantity.count(result.uploaded)) uploaded, nothing pending"
        case "nothing_pending": "nothing pending"
        case "transient": passing(result, names, code, left)
        case "auth": refused(result, names, said, left)
        case "rejected": rejected(result, names, said, left)
        case "permanent":
            "\(names.server) answered \(permanent(result, place(url))); \(left): beekonctl status says what to do"
        case "disabled": "no upload is configured: set sync.url in /etc/beekond/beekond.toml"
        default: "\(Text.safe(result.outcome)) (\(left))"
        }
    }

    /// What becomes of what was put into the queue: an attempt has begun, unless there is nobody to send it to, or only a person
    /// begins one.
    ///
    /// - Parameters:
    ///   - state: of the upload; nil: not known.
    ///   - settings: those in force.
    package static func begun(
        _ state: Wire.SyncState?, of destination: String?, settings: [Wire.Setting]
    ) -> String {
        let names = DestinationNames(destination)
        if state == .disabled {
            return "they stay here, because no upload is configured (\(names.table).url)"
        }
        let mode = settings.first { $0.key == names.table + ".mode" }?.value.stringValue
        return mode == "manual"
            ? "\(names.sync) sends them (\(names.table).mode is manual)" : "the upload has begun"
    }

    private static func pending(_ result: Wire.Sync.Result) -> String {
        result.pending == 0 ? "nothing pending" : "\(Quantity.count(result.pending)) pending"
    }

    /// The reason comes last: it may end in anything.
    private static func permanent(_ result: Wire.Sync.Result, _ place: String) -> String {
        let number = result.httpStatus.map { "\($0)" } ?? Text.safe(result.error ?? "with a refusal")
        let reason = result.httpStatus == nil ? nil : result.reason
        return number + place + ", which retrying will not change"
            + (reason.map { ": " + Text.cut(Text.safe($0), to: 400) } ?? "")
    }

    private static func place(_ url: String?) -> String {
        url.map { " at " + Text.cut(Text.safe($0), to: 200) } ?? ""
    }

    private static func passing(
        _ result: Wire.Sync.Result, _ names: DestinationNames, _ code: String?, _ left: String
    ) -> String {
        // With an answer it can be reached.
        if let code { return "\(names.server) answered \(code); \(left): beekond keeps trying" }
        let error = result.error.map { " (\(Text.cut(Text.safe($0), to: 200)))" } ?? ""
        if let error = result.error, result.mqttCode != nil || error.hasPrefix("storage") {
            return "\(Text.cut(Text.safe(error), to: 200)); \(left): beekond keeps trying"
        }
        return "\(names.server) cannot be reached at the moment\(error); \(left): beekond keeps trying"
    }

    private static func refused(
        _ result: Wire.Sync.Result, _ names: DestinationNames, _ said: String, _ left: String
    ) -> String {
        guard let code = result.mqttCode else {
            return "\(names.server) refuses our credentials\(said); \(left): correct "
                + names.credentials(format: nil)
        }
        return
            "\(names.broker) refuses our login or our topic (MQTT \(code)); \(left): correct "
            + "\(names.table).username, password or device_id, the client_certificate, or the broker's access list"
    }

    /// The sentence for refused rows: some are dead letters now, or all batches are refused and the server is suspected.
    private static func rejected(
        _ result: Wire.Sync.Result, _ names: DestinationNames, _ said: String, _ left: String
    ) -> String {
        guard let count = result.rejected, count > 0 else {
            return "\(names.server) rejects the data\(said); \(left): see its log"
        }
        let rest = result.error.map { "; the rest waits: \(Text.cut(Text.safe($0), to: 400))" } ?? ""
        return
            "\(names.server) has refused \(locations(count)) for good\(said); \(left): beekonctl rejected list\(names.option) "
            + "shows " + (count == 1 ? "it" : "them") + rest
    }

    /// A clause about rows that were refused, for an outcome that says something worse.
    private static func refusedBesides(_ result: Wire.Sync.Result, _ names: DestinationNames) -> String {
        guard result.outcome != "rejected", let count = result.rejected, count > 0 else { return "" }
        let were = count == 1 ? "was" : "were"
        // Of several destinations it is a sum.
        let option = result.destination == nil ? names.option : ""
        return "; \(locations(count)) \(were) refused for good: beekonctl rejected list\(option)"
    }

    private static func locations(_ count: Int) -> String {
        count == 1 ? "1 location" : "\(Quantity.count(count)) locations"
    }
}

/// What a server answered, in words.
package enum ServerWords {
    /// `422: vehicle "truck-12" is not registered`; nil where there was no answer.
    package static func code(_ status: Int?, _ reason: String?) -> String? {
        guard let status else { return nil }
        return "\(status)" + (reason.map { ": " + Text.cut(Text.safe($0), to: 400) } ?? "")
    }

    /// The server's words, to stand behind a statement: ` (HTTP 422: …)`; empty where there was no answer.
    static func suffix(_ status: Int?, _ reason: String?) -> String {
        code(status, reason).map { " (HTTP \($0))" } ?? ""
    }
}
