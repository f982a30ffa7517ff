import Linux
import Support
import Testing

@testable import Upload

@Suite("a request, step by step")
struct StepTests {
    private static let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

    @Test("nothing is sent before the first step, and a request that is cancelled leaves no trace")
    func cancelled() throws {
        let server = try answering(Self.created)
        let client = try httpClient()
        let wakeup = try Wakeup()
        client.begin([1], options(server.url))
        client.cancel()
        guard case .ended(.failure) = client.advance(wakeup: wakeup) else {
            Issue.record("a cancelled request goes on")
            return
        }
        #expect(server.connections == 0)
        let seen = client.ask([2], options(server.url), wakeup: wakeup) { false }
        #expect(seen == .response(status: 201, retryAfter: nil))
    }

    @Test("a step returns when there is a wake-up, and the next ones bring the answer")
    func steps() throws {
        let isAsked = Flag()
        let server = try RawServer { link in
            link.request()
            _ = wait { isAsked.raisedAt != nil || pause() }
            link.send(Self.created)
        }
        let client = try httpClient()
        let wakeup = try Wakeup()
        client.begin([1], options(server.url))
        wakeup.signal()
        var outcome: HTTPOutcome?
        let hasEnded = wait(upTo: 30) {
            if case .ended(let end) = client.advance(wakeup: wakeup) { outcome = end }
            if server.requests.count == 1 {
                isAsked.raise()
                wakeup.clear()
            }
            return outcome != nil
        }
        #expect(hasEnded)
        #expect(outcome.map { Seen($0) } == .response(status: 201, retryAfter: nil))
        client.disconnect()
        #expect(server.isAtRest())
    }

    @Test("a client that goes away takes its request with it")
    func abandoned() throws {
        let server = try RawServer { link in
            link.request()
            link.drain()
        }
        do {
            let client = try httpClient()
            let wakeup = try Wakeup()
            client.begin([1], options(server.url))
            let isSent = wait(upTo: 30) {
                client.advance(wakeup: wakeup) == .underway && server.requests.count == 1
            }
            #expect(isSent)
        }
        #expect(server.isAtRest())
    }
}
