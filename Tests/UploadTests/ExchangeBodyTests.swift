import Linux
import Support
import Testing

@testable import Upload

@Suite("a request whose answer is read")
struct ExchangeBodyTests {
    private func exchange(_ url: String) throws -> (outcome: Seen, body: [UInt8]) {
        let client = try httpClient()
        let outcome = client.post([], options(url), wakeup: try Wakeup()) { false }
        guard case .answer(let answer) = outcome else { return (Seen(outcome), []) }
        return (Seen(outcome), answer.body)
    }

    @Test("the body comes whole, also in chunks")
    func body() throws {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        ] {
            let server = try answering(answer)
            let (outcome, body) = try exchange(server.url)
            #expect(outcome == .response(status: 200, retryAfter: nil))
            #expect(String(decoding: body, as: UTF8.self) == "hello")
        }
    }

    @Test("of one that is too long nothing can be used")
    func tooLong() throws {
        for (count, isWhole) in [(65_536, true), (65_537, false), (300_000, false)] {
            let server = try answering(
                "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count))
            let (outcome, body) = try exchange(server.url)
            #expect(outcome == .response(status: 200, retryAfter: nil))
            #expect(body.count == (isWhole ? count : 0))
        }
    }

    @Test("one that is cut off is none, and tells whether the request was sent")
    func cut() throws {
        let server = try answering("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"access_token\"")
        guard case .failure(let failure) = try exchange(server.url).outcome else {
            return #expect(Bool(false))
        }
        #expect(failure.wasSent)
        let port = try ClosedPort()
        guard case .failure(let refused) = try exchange("http://127.0.0.1:\(port.number)/").outcome else {
            return #expect(Bool(false))
        }
        #expect(!refused.wasSent)
        withExtendedLifetime(port) {}
    }
}
