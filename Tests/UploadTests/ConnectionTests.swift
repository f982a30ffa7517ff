import Linux
import Support
import Testing

@testable import Upload

@Suite("the connection of an upload")
struct ConnectionTests {
    private static let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
    private static let success = Seen.response(status: 201, retryAfter: nil)

    @Test("a connection refused is a failure of the network")
    func refused() throws {
        let port = try ClosedPort()
        #expect(try post("http://127.0.0.1:\(port.number)/").isNetworkFailure)
        withExtendedLifetime(port) {}
    }

    @Test("a server that says nothing, or trickles, is given up", arguments: ["", "HTTP/1.1 200 OK\r\n"])
    func silent(beginning: String) throws {
        let server = try RawServer { link in
            link.request()
            link.send(beginning)
            link.drain()
        }
        let started = monotonicSeconds()
        #expect(try post(server.url, timeout: 0.3).isNetworkFailure)
        #expect(monotonicSeconds() - started >= 0.29)
    }

    @Test("a server that does not read is given up")
    func deaf() throws {
        let (isDone, done) = (try Wakeup(), try Wakeup())
        let server = try RawServer { _ in
            var poll = Rest()
            poll.add(isDone.descriptor)
            poll.wait(seconds: 10)
            done.signal()
        }
        #expect(try post(server.url, [UInt8](repeating: 1, count: 32 << 20), timeout: 0.5).isNetworkFailure)
        isDone.signal()
        #expect(server.isAtRest())
    }

    @Test("the connection is kept between requests")
    func kept() throws {
        let server = try answering(Self.created)
        let client = try httpClient()
        let wakeup = try Wakeup()
        for _ in 0..<3 {
            #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
        }
        #expect(server.connections == 1)
        #expect(server.requests.count == 3)
    }

    @Test("a connection that the server closed between requests is replaced", arguments: [false, true])
    func closedBetween(isReset: Bool) throws {
        let server = try RawServer { link in
            if link.request() { link.send(Self.created) }
            if isReset { link.reset() }
        }
        let client = try httpClient()
        let wakeup = try Wakeup()
        for count in 1...3 {
            #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
            #expect(server.isAtRest())
            #expect(server.connections == count)
        }
    }

    @Test("a kept connection that dies on the next request is replaced")
    func diesWithRequest() throws {
        let server = try RawServer { link in
            if link.request() { link.send(Self.created) }
            _ = link.head()
        }
        let client = try httpClient()
        let wakeup = try Wakeup()
        #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
        #expect(client.ask([2], options(server.url), wakeup: wakeup) { false } == Self.success)
        #expect(server.connections == 2)
    }

    @Test("disconnect closes the kept connection, and the next request opens another")
    func disconnect() throws {
        let server = try answering(Self.created)
        let client = try httpClient()
        let wakeup = try Wakeup()
        for count in 1...2 {
            #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
            #expect(server.connections == count)
            client.disconnect()
            #expect(server.isAtRest())
        }
    }

    @Test("after a failure the next request works")
    func afterFailure() throws {
        let hasFailed = Flag()
        let server = try RawServer { link in
            if !hasFailed.raise() { return }
            while link.request() { link.send(Self.created) }
        }
        let client = try httpClient()
        let wakeup = try Wakeup()
        let first = client.ask([1], options(server.url), wakeup: wakeup) { false }
        #expect(first.isNetworkFailure)
        #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
    }

    @Test("the wake-up cancels a request at once, while it waits for the answer")
    func cancelled() throws {
        let server = try RawServer { link in
            if link.request() { link.send(Self.created) }
            link.request()
            link.drain()
        }
        let wakeup = try Wakeup()
        let client = try httpClient()
        // On a connection that stands, libcurl has no timers of its own that would end its sleep early.
        #expect(client.ask([1], options(server.url), wakeup: wakeup) { false } == Self.success)
        let isCancelled = Flag()
        try startThread(named: "canceller") {
            _ = wait { server.requests.count == 2 || pause() }
            isCancelled.raise()
            wakeup.signal()
        }
        // What sleeps on until then has the outcome of a timeout.
        let outcome = client.ask([1], options(server.url, timeout: 300), wakeup: wakeup) {
            isCancelled.raisedAt != nil
        }
        let seconds = monotonicSeconds() - (try #require(isCancelled.raisedAt))
        #expect(outcome == .cancelled)
        #expect(seconds < 150)
        #expect(server.isAtRest(), "the connection of a cancelled request is closed")
    }

    @Test("a wake-up for something else leaves the request alone")
    func wokenInVain() throws {
        let wakeup = try Wakeup()
        let isAsked = Flag()
        let server = try RawServer { link in
            link.request()
            wakeup.signal()
            _ = wait { isAsked.raisedAt != nil || pause() }
            link.send(Self.created)
        }
        let client = try httpClient()
        let outcome = client.ask([1], options(server.url), wakeup: wakeup) {
            var poll = Rest()
            poll.add(wakeup.descriptor)
            poll.wait(seconds: 0)
            if poll.isReadable(0) { isAsked.raise() }
            wakeup.clear()
            return false
        }
        #expect(outcome == Self.success)
        #expect(isAsked.raisedAt != nil)
    }
}
