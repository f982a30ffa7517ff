package import ControlProtocol

/// An error that ends the tool: one sentence for the user that says what to do, and an exit code from sysexits.h.
package struct Failure: Error, Equatable, Sendable {
    /// For stderr; without a line break.
    package let message: String
    /// An exit code from sysexits.h.
    package let exitCode: Int32

    /// - Parameter message: is made safe for a terminal.
    package init(_ message: String, exitCode: Int32) {
        self.message = Text.safe(message)
        self.exitCode = exitCode
    }

    /// Converts any error that a client throws. nil for all other errors.
    package init?(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let failure as ClientFailure: self.init(failure.message, exitCode: failure.exitCode)
        case let error as ControlError: self = Self.describing(error)
        case let invalid as TimeArgument.Invalid: self.init(invalid.description, exitCode: 64)
        default: return nil
        }
    }

    private static func describing(_ error: ControlError) -> Failure {
        switch error {
        case .storageFailure(let reason):
            Failure(
                "the database failed (\(reason)): see beekonctl status and the disk of the state directory",
                exitCode: 74)
        case .locationUnavailable(let reason):
            Failure("no fix can come (\(reason)): see beekonctl status", exitCode: 69)
        case .invalidConfiguration(let key, let reason):
            // A reason that continues a sentence about the key starts with its verb.
            Failure(
                (reason.hasPrefix("is ") ? "\(key) " : "\(key) is refused: ") + reason
                    + (reason.hasSuffix("?") ? " Nothing was changed" : "; nothing was changed"), exitCode: 78
            )
        case .invalidGeofence(let id, let reason):
            Failure("geofence \(id) is refused: \(reason); none was added", exitCode: 65)
        case .notTracking:
            Failure("nothing is tracked at the moment: beekonctl start begins", exitCode: 75)
        case .rebatchRefused(let reason):
            Failure("nothing was dissolved: \(reason)", exitCode: 65)
        case .invalidTime(let value):
            Failure("beekond does not accept \"\(value)\" as a time: give ISO-8601", exitCode: 64)
        case .tooMany(let limit):
            Failure("more than \(limit) rows: narrow the range", exitCode: 65)
        case .rateLimited(let seconds):
            Failure(
                "beekond was asked too often, or is doing the same for another client: try again in \(seconds) s",
                exitCode: 75)
        case .permissionDenied:
            Failure(
                "permission denied: this needs root or group beekon-admin "
                    + "(sudo usermod -aG beekon-admin \"$USER\", then log in again)", exitCode: 77)
        case .denied(let reason):
            Failure("permission denied: \(reason); nothing was changed", exitCode: 77)
        case .interfaceNotFound(let name), .methodNotFound(let name), .methodNotImplemented(let name):
            Failure("the running beekond does not have \(name): upgrade and restart it", exitCode: 76)
        case .invalidParameter(let name):
            Failure(
                "beekond refuses \"\(name)\" as it was given: correct it, or upgrade and restart a beekond that does not know it",
                exitCode: 76)
        case .expectedMore:
            Failure("beekond wants to stream here: beekonctl and beekond differ in version", exitCode: 76)
        case .other(let name, _):
            Failure("beekond answered \(name): journalctl -u beekond says why", exitCode: 70)
        }
    }
}

/// The outcome of an upload run.
package enum SyncOutcome {
    /// The exit code of `sync`; 0 when nothing is left to do.
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
    ///   - status: of beekond; nil: not known.
    package static func text(
        _ result: Wire.Sync.Result, of destination: String? = nil, status: Wire.Status? = nil
    ) -> String {
        let names = DestinationNames(destination)
        let uploaded = "\(Quantity.count(result.uploaded)) uploaded"
        let left = "\(uploaded), \(Quantity.count(result.pending)) pending"
        return switch result.outcome {
        case "drained": uploaded + ", nothing pending"
        case "nothing_pending": "nothing pending"
        case "transient": "\(names.server) cannot be reached at the moment (\(left)): beekond keeps trying"
        case "auth": refused(left, names, status?.destinations.first { $0.name == names.name })
        case "rejected": "\(names.server) rejects the data (\(left)): see its log"
        case "permanent":
            "the answer of \(names.server) will not change by itself (\(left)): see beekonctl status"
        case "disabled": "no upload is configured: set sync.url in /etc/beekond/beekond.toml"
        default: "\(Text.safe(result.outcome)) (\(left))"
        }
    }

    private static func refused(
        _ left: String, _ names: DestinationNames, _ destination: Wire.Destination?
    ) -> String {
        guard let code = destination?.sync.lastMqttCode else {
            return "\(names.server) refuses our credentials (\(left)): correct "
                + names.credentials(format: destination?.format)
        }
        return
            "\(names.broker) refuses our login or our topic (MQTT \(code); \(left)): correct "
            + "\(names.table).username, password or device_id, the client_certificate, or the broker's access list"
    }
}
