/// What one request came to.
package enum HTTPOutcome: Equatable, Sendable {
    /// Headers complete, and the body ended as framed or was cut after 64 KiB.
    case answer(Answer)
    case failure(TransportFailure)
    /// The caller ended it.
    case cancelled
}

/// A complete answer, as far as anything is decided by it. What it means is for the format to say.
package struct Answer: Equatable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The value of `Retry-After`, as it came.
    package let retryAfter: String?
    /// The answer is none of the backend's: an HTML page, or an error that PHP printed. Also what may be one
    /// and was not read.
    package let isPage: Bool
    /// The body begins with an error that PHP printed.
    package let isPHPError: Bool
    /// The first character of the body is `{`, as far as it could be read.
    package let isObject: Bool
    /// The body is not compressed: compression is never asked for, so nothing here can undo it.
    package let isReadable: Bool
    /// The body exceeds 64 KiB, and the rest was not read.
    package let isCut: Bool
    /// The answer began before the peer, or its proxy, had acknowledged the whole request.
    package let isEarly: Bool
    /// The body; empty when it exceeds 64 KiB.
    package let body: [UInt8]
    /// The part of the body that was read.
    private let said: [UInt8]

    init(
        status: Int, _ head: AnswerHead, _ start: AnswerBody, isCut: Bool, isEarly: Bool = false,
        text: [UInt8]
    ) {
        self.status = status
        self.isEarly = isEarly
        retryAfter = head.retryAfter
        isPHPError = start.isPHPError
        isPage =
            isPHPError || start.isPage(asHTML: head.isHTML) || isCut && start.mayBePage
            || head.isCoded && head.isHTML
        isObject = start.isObject
        isReadable = !head.isCoded
        self.isCut = isCut
        said = text
        body = isCut ? [] : text
    }

    /// What the server says of its refusal, in a line; nil when it says nothing that people can read.
    ///
    /// - Parameter hide: takes secrets out of a text: a server may repeat what it was sent.
    package func reason(hiding hide: (String) -> String) -> String? {
        isReadable ? ServerReason.read(said, hiding: hide) : nil
    }
}

extension Answer {
    /// Why a 2xx with this body is not believed, whatever else it says; nil: it may be.
    var pageDoubt: Doubt? { isPHPError ? .phpError : isPage ? .page : nil }
}

/// Why there is no complete answer.
package struct TransportFailure: Error, Equatable, Sendable {
    /// What is at fault.
    package enum Kind: Equatable, Sendable {
        case network
        /// The server's certificate is not valid yet: on a box without a battery clock that is the clock's fault.
        case clock
    }

    /// The network (or the server), or the clock.
    package let kind: Kind
    /// libcurl's words.
    package let message: String

    /// Part of the request was sent, so the server may have received all of it.
    package let wasSent: Bool
    /// The request was given up because it took too long, or was too slow.
    package let isTimeout: Bool
    /// TLS was refused, by this side or the other: a certificate, its name, the clock, a version.
    package let isTLS: Bool

    /// What is left out is not so.
    package init(
        kind: Kind, message: String, wasSent: Bool = false, isTimeout: Bool = false, isTLS: Bool = false
    ) {
        self.kind = kind
        self.message = message
        self.wasSent = wasSent
        self.isTimeout = isTimeout
        self.isTLS = isTLS
    }

    /// The request was being sent when the time ran out: it may be too large for the link.
    package var isForTime: Bool { wasSent && isTimeout }
}
