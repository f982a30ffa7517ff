internal import ControlProtocol

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
            Failure("beekond tries to stream here: beekonctl and beekond differ in version", exitCode: 76)
        case .other(let name, _):
            Failure("beekond answered \(name): journalctl -u beekond says why", exitCode: 70)
        }
    }
}
