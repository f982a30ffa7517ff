/// What one POST came to.
package enum HTTPOutcome: Equatable, Sendable {
    /// Headers complete, and the body ended as framed or was cut after 64 KiB. `doubt` says why a 2xx is not believed.
    case response(status: Int, retryAfter: String?, doubt: Doubt? = nil)
    case failure(TransportFailure)
    /// The daemon stops, or the user has deleted rows of the batch.
    case cancelled
}

/// No complete answer.
package struct TransportFailure: Error, Equatable, Sendable {
    /// Whose fault it is.
    package enum Kind: Equatable, Sendable {
        case network
        /// The server's certificate is not valid yet: on a box without a battery clock that is the clock's fault.
        case clock
    }

    /// The network's, the server's, or the clock's.
    package let kind: Kind
    /// libcurl's words.
    package let message: String

    /// Something of the request went out, so that the server may have had it.
    package let wasSent: Bool
    /// It was cancelled because it took too long, or was too slow.
    package let isTimeout: Bool

    /// An answer that did not come, or came cut off.
    package init(kind: Kind, message: String, wasSent: Bool = false, isTimeout: Bool = false) {
        self.kind = kind
        self.message = message
        self.wasSent = wasSent
        self.isTimeout = isTimeout
    }

    /// The request was being sent when the time ran out: it may be too large for the link.
    package var isForTime: Bool { wasSent && isTimeout }
}

/// What an answer means for the batch.
package enum Verdict: Equatable, Sendable {
    /// The backend has it now: the rows are deleted.
    case accepted
    /// The backend will never take it.
    case rejected
    case unauthorised
    /// Try again later. `retryAfter` in seconds, when the server asked for it.
    case transient(isNetwork: Bool, retryAfter: Double?)
    /// Only a change of the configuration or of the server can help.
    case permanent

    /// The status table of the upload contract.
    ///
    /// - Parameters:
    /// - retryAfter: the parsed header of that name.
    /// - doubt: why a 2xx is not believed; nil: it is.
    package init(status: Int, retryAfter: Double?, doubt: Doubt? = nil) {
        self =
            switch status {
            case 200...299: doubt == nil ? .accepted : .permanent
            case 400, 422: .rejected
            case 401, 403: .unauthorised
            case 408, 429, 500...599: .transient(isNetwork: false, retryAfter: retryAfter)
            default: .permanent
            }
    }
}
