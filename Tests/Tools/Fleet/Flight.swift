internal import Base

/// A request on its way.
enum Flight: Equatable, Sendable {
    case none
    /// The request reaches the server, which may have no room for another connection: `tries` before.
    case arriving(at: BootInstant, tries: Int)
    /// The answer reaches the vehicle.
    case answered(at: BootInstant, status: Int, retryAfter: Int?)
    /// The request is given up.
    case failing(at: BootInstant, isForTime: Bool)
    /// A real server has it.
    case outside

    /// When something becomes of the request.
    var due: BootInstant {
        switch self {
        case .none, .outside: Agenda.never
        case .arriving(let time, _), .answered(let time, _, _), .failing(let time, _): time
        }
    }
}

/// What the kernel and libcurl do about a connection, in seconds.
enum Link {
    /// The kernel asks again for a connection so long after the time before: 1, 3 and 7 s after the first.
    static let connectRetries = [1.0, 2.0, 4.0]
    /// Seconds until a connection is given up.
    static let connectTimeout = 15.0
    /// Less than 10 bytes a second for so long end a request.
    static let stallTimeout = 45.0
    /// `timeout_seconds`, by default: a whole request.
    static let timeout = 60.0
    /// Seconds until a request without a route has failed.
    static let noRoute = 0.02
    /// Round trips before the first byte of the body: TCP and TLS.
    static let handshakes = 3.0
}
