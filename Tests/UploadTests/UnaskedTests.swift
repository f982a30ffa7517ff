import CCurl
import Linux
import Support
import Testing

@testable import Upload

/// Rule by rule: this one alone. The answers are all in order, and nothing is early.
@Suite("what comes on a kept connection before anything was asked")
struct UnaskedTests {
    private static let answer = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

    /// What the server does after its first answer.
    enum Extra: Sendable {
        case nothing
        case answer
        /// Over TLS: before the client has read the first.
        case answerAtOnce
        /// Over TLS: its farewell, and no end of the connection.
        case farewell
        case end
        /// Over TLS 1.3.
        case ticket
    }

    /// The first two requests of a client, with something of the server's between them.
    ///
    /// - Parameter serve: the first connection, until what is more has been sent. The first of the two flags is raised once the
    ///   client has its first answer.
    /// - Returns: how many connections there were, and how often what came was counted.
    private func ask(
        _ scheme: String, trusting ca: String? = nil, _ serve: @escaping @Sendable (Link, Flag, Flag) -> Void
    ) throws -> (connections: Int, unrequested: Int) {
        let (isAnswered, isOut) = (Flag(), Flag())
        let server = try RawServer { link in serve(link, isAnswered, isOut) }
        var options = options("\(scheme)://127.0.0.1:\(server.port)/up")
        options.caFile = ca
        let client = try httpClient()
        let wakeup = try Wakeup()
        let expected = Seen.response(status: 201, retryAfter: nil)
        #expect(client.ask([1], options, wakeup: wakeup) { false } == expected)
        isAnswered.raise()
        #expect(wait { isOut.raisedAt != nil || pause() })
        #expect(client.ask([2], options, wakeup: wakeup) { false } == expected)
        defer { client.disconnect() }
        return (server.connections, client.unrequested)
    }

    @Test(
        "is no answer to the next request, which goes over another connection",
        arguments: [(.nothing, 1, 0), (.answer, 2, 1), (.end, 2, 0)] as [(Extra, Int, Int)])
    func plain(extra: Extra, connections: Int, unrequested: Int) throws {
        let seen = try ask("http") { link, isAnswered, isOut in
            guard link.request() else { return }
            link.send(Self.answer)
            _ = wait { isAnswered.raisedAt != nil || pause() }
            if isOut.raisedAt == nil, extra == .answer { link.send(Self.answer) }
            if isOut.raisedAt == nil, extra == .end { link.finish() }
            _ = wait { link.hasArrived || pause() }
            isOut.raise()
            while link.request() { link.send(Self.answer) }
        }
        #expect(seen == (connections, unrequested))
    }

    @Test(
        "nor is it within TLS, where tickets and farewells are none of it",
        arguments: [
            (TLS1_2_VERSION, .nothing, 1, 0), (TLS1_2_VERSION, .answer, 2, 1),
            (TLS1_2_VERSION, .answerAtOnce, 2, 1), (TLS1_2_VERSION, .farewell, 2, 0),
            (TLS1_2_VERSION, .end, 2, 0), (TLS1_3_VERSION, .nothing, 1, 0), (TLS1_3_VERSION, .answer, 2, 1),
            (TLS1_3_VERSION, .answerAtOnce, 2, 1), (TLS1_3_VERSION, .farewell, 2, 0),
            (TLS1_3_VERSION, .end, 2, 0), (TLS1_3_VERSION, .ticket, 1, 0),
        ] as [(Int32, Extra, Int, Int)])
    func tls(version: Int32, extra: Extra, connections: Int, unrequested: Int) throws {
        let directory = try TemporaryDirectory()
        try makeCertificates(in: directory)
        let seen = try ask("https", trusting: directory.file("authority.pem")) { link, isAnswered, isOut in
            guard let tls = try? TLSLink(link, in: directory, version: version), tls.request() else { return }
            let isFirst = isOut.raisedAt == nil
            tls.send(Self.answer)
            if isFirst, extra == .answerAtOnce { tls.send(Self.answer) }
            _ = wait { isAnswered.raisedAt != nil || pause() }
            if isFirst {
                switch extra {
                case .nothing, .answerAtOnce: break
                case .answer: tls.send(Self.answer)
                case .farewell: tls.takeLeave()
                case .end: link.finish()
                case .ticket: tls.sendTicket()
                }
            }
            _ = wait { link.hasArrived || pause() }
            isOut.raise()
            while tls.request() { tls.send(Self.answer) }
        }
        #expect(seen == (connections, unrequested))
    }
}
