internal import Envelope
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Why a request was not done, as its sender reads it: a problem document (RFC 9457).
struct Problem: Error, Equatable {
    var status: HTTPResponse.Status
    /// What is wrong, in a sentence.
    var detail: String
    /// A JSON pointer to the field of the body; nil when it is not about one.
    var pointer: String?
    /// The location or event, from 0.
    var index: Int?
    /// Seconds after which another try makes sense.
    var retryAfter: Int?
    /// Whether another token would help; a browser then asks its user for one.
    var isChallenge = true
    /// Methods that the resource has; with status 405.
    var allow: String?

    init(_ status: HTTPResponse.Status, _ detail: String) {
        self.status = status
        self.detail = detail
    }

    init(_ fault: Fault) {
        status = fault.kind == .tooLarge ? .contentTooLarge : .badRequest
        let field = fault.pointer.isEmpty ? "The body" : fault.pointer
        detail = "\(field) \(fault.reason)."
        pointer = fault.pointer.isEmpty ? nil : fault.pointer
        index = fault.index
    }

    /// - Parameter sentence: what is wrong with the field, without its full stop.
    init(field: String, _ sentence: String) {
        self.init(.badRequest, sentence + ".")
        pointer = "/" + field
    }

    init(_ error: StoreError, using random: inout some RandomNumberGenerator) {
        switch error.kind {
        case .overloaded, .missing: self = .busy(using: &random)
        case .unavailable:
            self = .busy(using: &random)
            detail =
                error.summary
                ?? "The database does not answer. Send it again: what is stored already is not stored twice."
        case .gone:
            self = .busy(using: &random)
            detail =
                "The file of the database has gone or was replaced: nothing is accepted until it is back."
        case .conflict: self.init(.conflict, "Not done: \(error.message).")
        case .failed: self.init(.internalServerError, "The database refuses it; the server's log says why.")
        }
    }

    /// Seconds after which those that were refused come back, each at a moment of its own: a thousand that come back together
    /// are as many as before.
    static let busySeconds = 5...30

    /// 503, to come back at a moment of its own.
    static func busy(using random: inout some RandomNumberGenerator) -> Problem {
        busy(retryAfter: Int.random(in: busySeconds, using: &random))
    }

    static func busy(retryAfter seconds: Int) -> Problem {
        var problem = Problem(.serviceUnavailable, "The server is overloaded.")
        problem.retryAfter = seconds
        return problem
    }

    /// - Parameter seconds: after which another try makes sense.
    static func tooManyGuesses(_ seconds: Int) -> Problem {
        var problem = Problem(.tooManyRequests, "There were too many wrong passwords for this name.")
        problem.retryAfter = seconds
        return problem
    }

    static let unauthorized = Problem(
        .unauthorized, "The token is not (or no longer) one that this server has given out.")

    static func notFound(_ detail: String = "There is nothing at this path.") -> Problem {
        Problem(.notFound, detail)
    }

    /// No such device: also the answer for one that the viewer may not see.
    static func noDevice(_ id: Int64) -> Problem { notFound("There is no device \(id).") }

    var response: Response {
        Response(status: status, headers: headers, body: ResponseBody(byteBuffer: document))
    }

    /// The answer to a sender that is sent away, after which the connection ends.
    var farewell: (head: HTTPResponse, body: ByteBuffer) {
        var headers = headers
        headers[.connection] = "close"
        headers[.contentLength] = String(document.readableBytes)
        return (HTTPResponse(status: status, headerFields: headers), document)
    }

    /// The bytes of the same, for a connection on which nobody speaks HTTP.
    var text: [UInt8] {
        let (head, body) = farewell
        let lines = head.headerFields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined()
        let start = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
        return Array("\(start)\(lines)\r\n".utf8) + Array(body.readableBytesView)
    }

    private var headers: HTTPFields {
        var headers: HTTPFields = [.contentType: "application/problem+json"]
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        if let allow { headers[.allow] = allow }
        if status == .unauthorized, isChallenge { headers[.wwwAuthenticate] = "Bearer" }
        return headers
    }

    private var document: ByteBuffer {
        var body: [UInt8] = Array(#"{"type":"about:blank","title":"#.utf8)
        JSONString.append(status.reasonPhrase, to: &body)
        body += Array(#","status":\#(status.code),"detail":"#.utf8)
        JSONString.append(detail, to: &body)
        if let pointer {
            body += Array(#","pointer":"#.utf8)
            JSONString.append(pointer, to: &body)
        }
        if let index { body += Array(#","index":\#(index)"#.utf8) }
        body += Array("}\n".utf8)
        return ByteBuffer(bytes: body)
    }
}
