import Base
import Linux

@testable import Upload

/// A server as the uploader sees it, without a network: takes requests, and answers when it is told to.
final class FakeTransport: HTTPTransport {
    struct Request {
        let body: [UInt8]
        let options: HTTPOptions
    }

    /// What has been sent, but for what was taken back before its first byte.
    private(set) var requests: [Request] = []
    /// How those under way end, in this order.
    var outcomes: [HTTPOutcome] = []
    private(set) var cancelled = 0
    private var current: (request: Request, hasStarted: Bool)?

    var connectionNumber: Int { 1 }
    var unrequested: Int { 0 }
    var peer: String? { "192.0.2.1" }

    func begin(_ body: [UInt8], _ options: HTTPOptions, resumingAt now: BootInstant?) {
        current = (Request(body: body, options: options), false)
    }

    func advance() -> HTTPClient.Progress {
        guard let current else {
            return .ended(.failure(TransportFailure(kind: .network, message: "no request was begun")))
        }
        if !current.hasStarted {
            requests.append(current.request)
            self.current?.hasStarted = true
            return .underway
        }
        guard !outcomes.isEmpty else { return .underway }
        self.current = nil
        return .ended(outcomes.removeFirst())
    }

    func rest(now: BootInstant) -> Rest { outcomes.isEmpty ? Rest() : .none }

    func cancel() {
        if current?.hasStarted == true { cancelled += 1 }
        current = nil
    }

    func disconnect() {}
    func forgetSessions() {}
}

extension HTTPOutcome {
    /// A complete answer.
    static func answered(_ status: Int, _ body: String = "{}", headers: [String] = []) -> HTTPOutcome {
        var head = AnswerHead()
        for line in ["HTTP/1.1 \(status) Words"] + headers + [""] {
            Array((line + "\r\n").utf8).withUnsafeBytes { _ = head.read($0) }
        }
        let text = Array(body.utf8)
        var start = AnswerBody()
        text.withUnsafeBytes { start.append($0) }
        return .answer(Answer(status: status, head, start, isCut: false, text: text))
    }

    /// None, though the request was sent.
    static func lost(isTimeout: Bool = false) -> HTTPOutcome {
        .failure(
            TransportFailure(
                kind: .network, message: "the connection was lost", wasSent: true, isTimeout: isTimeout))
    }
}
