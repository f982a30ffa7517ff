internal import Glibc

/// Why a client could not talk to the daemon. Errors reported by the daemon itself are `ControlError`s.
package struct ClientFailure: Error, Equatable, Sendable {
    /// The kind of failure, which determines the exit code.
    package enum Kind: Sendable, Equatable {
        /// No socket, nobody listening, or the connection ended early.
        case unreachable
        /// The socket's permissions do not allow this user.
        case permissionDenied
        /// No answer in time.
        case timedOut
        /// The answer is not Varlink, or too long.
        case badReply
        /// The path is not a valid socket path.
        case badPath
        /// Any other system error.
        case system
    }

    package let kind: Kind
    /// One sentence that says what is wrong and what to do.
    package let message: String

    /// Exit code from sysexits.h: 69 unreachable, 77 permission, 75 timeout, 76 protocol, 64 usage, 71 system.
    package var exitCode: Int32 {
        switch kind {
        case .unreachable: 69
        case .permissionDenied: 77
        case .timedOut: 75
        case .badReply: 76
        case .badPath: 64
        case .system: 71
        }
    }

    /// Explains a failed connect(2) to the user.
    ///
    /// - Parameter isRoot: whether it is root who may not: a group would not help.
    static func connecting(to path: String, code: Int32, isRoot: Bool = geteuid() == 0) -> ClientFailure {
        switch code {
        case ENOENT, ENOTDIR:
            ClientFailure(
                kind: .unreachable,
                message: "beekond is not running (no socket at \(path)): \(remedy(path, "start"))")
        case ECONNREFUSED:
            ClientFailure(
                kind: .unreachable,
                message: "beekond is not running (nobody listens at \(path)): \(remedy(path, "restart"))")
        case EACCES, EPERM:
            ClientFailure(
                kind: .permissionDenied,
                message: "permission denied on \(path)"
                    + (isRoot
                        ? ", even for root: a container or AppArmor takes root's rights"
                        : ": add yourself to group beekon (sudo usermod -aG beekon \"$USER\") and log in again")
            )
        case EAGAIN:
            ClientFailure(
                kind: .timedOut,
                message: "beekond does not accept connections at \(path): journalctl -u beekond says why")
        default:
            ClientFailure(kind: .system, message: "cannot connect to \(path): \(text(of: code))")
        }
    }

    /// The service listens in one place; whoever names another has started it by hand.
    private static func remedy(_ path: String, _ verb: String) -> String {
        path == ControlClient.defaultPath
            ? "sudo systemctl \(verb) beekond" : "start it there with beekond --socket \(path)"
    }

    static func tooLongPath(_ path: String, limit: Int) -> ClientFailure {
        ClientFailure(
            kind: .badPath, message: "a socket path has 1 to \(limit) bytes: give another than \"\(path)\"")
    }

    static func system(_ operation: String, code: Int32) -> ClientFailure {
        ClientFailure(kind: .system, message: "\(operation) failed: \(text(of: code))")
    }

    static func timedOut(seconds: Double) -> ClientFailure {
        ClientFailure(
            kind: .timedOut,
            message: "beekond did not answer within \(seconds) s: journalctl -u beekond says why")
    }

    static let closed = ClientFailure(
        kind: .unreachable,
        message: "beekond closed the connection early: journalctl -u beekond says why")

    static func violation(_ violation: ProtocolViolation) -> ClientFailure {
        let what =
            switch violation {
            case .tooLong(let limit): "more than \(limit) bytes in one reply"
            case .notUTF8: "bytes that are no UTF-8"
            case .tooDeep: "nesting deeper than \(Limits.depth) levels"
            case .malformed(let reason): reason
            }
        return ClientFailure(
            kind: .badReply, message: "the socket answered something that is not beekond's protocol (\(what))"
        )
    }

    private static func text(of code: Int32) -> String { String(cString: strerror(code)) }
}
