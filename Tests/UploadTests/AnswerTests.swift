import Base
import Support
import Testing

@testable import Upload

@Suite("what counts as a complete answer")
struct AnswerTests {
    private static let ok = "HTTP/1.1 200 OK\r\n"

    @Test(
        "answers that end as framed",
        arguments: [
            (ok + "Content-Length: 5\r\n\r\nhello", 200), ("HTTP/1.1 204 No Content\r\n\r\n", 204),
            (ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201),
            ("HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n", 299),
            ("HTTP/1.1 298\r\nContent-Length: 0\r\n\r\n", 298),
            ("HTTP/1.0 201 Created\r\nContent-Length: 0\r\n\r\n", 201),
            ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", 503),
            ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200),
            (ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200),
            (ok + "Content-Length: 2, 2\r\n\r\nok", 200),
            ("HTTP/1.1 200 \u{FFFD}\u{1}\r\nX-Odd: \u{80}é\r\nContent-Length: 0\r\n\r\n", 200),
        ])
    func complete(answer: String, status: Int) throws {
        let server = try answering(answer)
        #expect(try post(server.url) == .response(status: status, retryAfter: nil))
        #expect(server.requests.count == 1)
    }

    @Test("a body without a length ends with the connection", arguments: ["HTTP/1.1", "HTTP/1.0"])
    func untilClose(version: String) throws {
        let server = try RawServer { link in
            link.request()
            link.send("\(version) 200 OK\r\n\r\nstored")
        }
        #expect(try post(server.url) == .response(status: 200, retryAfter: nil))
    }

    @Test(
        "answers that break off are none",
        arguments: [
            "", "HTTP/1.1 200", ok, ok + "Content-Length: 0\r\n", ok + "Content-Length: 10\r\n\r\nhello",
            ok + "Transfer-Encoding: chunked\r\n\r\n", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
            ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
            ok + "Content-Length: 99999999999999999999\r\n\r\nok",
            ok + "Content-Length: 9223372036854775808\r\n\r\n",
            ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", ok + "Content-Length: 2, 3\r\n\r\nok",
            ok + "Content-Length : 50\r\n\r\nok", ok + "Content-Length\t: 50\r\n\r\nok",
            ok + "Content-Length: 2 50\r\n\r\nok", ok + "Content-Length:\r\n 50\r\n\r\nok",
            ok + "Transfer-Encoding : chunked\r\n\r\nok", ok + "Transfer-Encoding:\r\n chunked\r\n\r\nok",
            ok + "Content-Length: 3\r\nHTTP/9: x\r\nContent-Length: 2\r\n\r\nok",
            ok + "Content-Length: 2" + String(repeating: " ", count: 300) + "0\r\n\r\nok",
            ok + "Content-Length: \r\n\r\nok", ok + "Content-Length: 0x2\r\n\r\nok",
            // A carriage return alone, which some take for the end of a line, and others for a blank.
            ok + "X: a\rContent-Length: 50\r\n\r\nok", ok + "X: a\rTransfer-Encoding: chunked\r\n\r\nok",
            ok + "Content-Length: 2\r\nX: a\rContent-Length: 50\r\n\r\nok", ok + "X: a\r\r\n\r\nok",
            ok + "X: a\rContent-Length: 50\n\nok", "HTTP/1.1 200 OK\rContent-Length: 50\r\n\r\nok",
            ok + "Content-Length: 70000\r\n\r\n" + String(repeating: "x", count: 65_536),
        ])
    func broken(answer: String) throws {
        let server = try RawServer { link in
            link.request()
            link.send(answer)
        }
        let outcome = try post(server.url)
        #expect(outcome.isNetworkFailure, "\(outcome)")
    }

    @Test(
        "answers that are not HTTP are none",
        arguments: [
            "200 OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\0\0\0\0", ok + "Content-Length: -1\r\n\r\n",
            ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", ok + "X: a\0b\r\nContent-Length: 0\r\n\r\n",
            // What libcurl makes a 200 of, or passes over.
            "http/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "Http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/one 500 No\r\nContent-Length: 0\r\n\r\n", "HTTP/-1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            "HTTP/x\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200.5 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1  103 Hints\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
            "http/1.1 103 Hints\r\n\r\n" + ok + "Content-Length: 0\r\n\r\n",
            "HTTP/1.1 103 Hints\r\n\r\nhttp/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        ])
    func garbage(answer: String) throws {
        let server = try RawServer { link in
            link.request()
            link.send(answer)
        }
        let outcome = try post(server.url)
        #expect(outcome.isNetworkFailure, "\(outcome)")
    }

    @Test("a reset within the body is no answer, though all bytes but one have come")
    func reset() throws {
        let server = try RawServer { link in
            link.request()
            link.send(Self.ok + "Content-Length: 6\r\n\r\nhello")
            link.reset()
        }
        #expect(try post(server.url).isNetworkFailure)
    }

    @Test("of a body beyond 64 KiB no more is read, and the answer counts", arguments: [200, 500])
    func cut(status: Int) throws {
        let body = [UInt8](repeating: 0x78, count: 10 << 20)
        let hasReadAll = Flag()
        let server = try RawServer { link in
            link.request()
            link.send("HTTP/1.1 \(status) Long\r\nContent-Length: \(body.count)\r\n\r\n")
            // 10 MB fit in no buffer between the two: a client that leaves early leaves some behind.
            if link.send(body) == body.count { hasReadAll.raise() }
        }
        #expect(try post(server.url) == .response(status: status, retryAfter: nil))
        #expect(server.isAtRest())
        #expect(hasReadAll.raisedAt == nil)
    }

    @Test("a body of exactly 64 KiB is read to its end")
    func exactly() throws {
        let body = String(repeating: "x", count: 65_536)
        let server = try answering(Self.ok + "Content-Length: 65536\r\n\r\n" + body)
        #expect(try post(server.url) == .response(status: 200, retryAfter: nil))
    }

    @Test("an answer that comes before the body was read is one", arguments: [200, 413, 503])
    func early(status: Int) throws {
        let server = try RawServer { link in
            guard link.head() != nil else { return }
            link.send("HTTP/1.1 \(status) Early\r\nContent-Length: 2\r\n\r\nno")
            link.finish()
            link.drain()
        }
        let body = [UInt8](repeating: 0x78, count: 8 << 20)
        #expect(try post(server.url, body) == .response(status: status, retryAfter: nil))
    }

    @Test("redirects are not followed", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) throws {
        let other = try answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let server = try answering(
            "HTTP/1.1 \(status) Elsewhere\r\nLocation: \(other.url)\r\nContent-Length: 0\r\n\r\n")
        #expect(try post(server.url) == .response(status: status, retryAfter: nil))
        #expect(other.connections == 0)
    }

    @Test(
        "Retry-After in any case and spacing",
        arguments: [
            "Retry-After: 120", "retry-after:120", "RETRY-AFTER:    120", "Retry-After:\t120",
            "retry-After: 120 \t",
        ])
    func retryAfter(header: String) throws {
        let server = try answering(
            "HTTP/1.1 429 Slow\r\nX-Retry-After: 7\r\n\(header)\r\nContent-Length: 0\r\n\r\n")
        guard case .response(429, let text?, _) = try post(server.url) else {
            Issue.record("no Retry-After seen")
            return
        }
        #expect(RetryAfter.seconds(text, at: Timestamp(milliseconds: 0)) == 120)
    }

    @Test("the Retry-After of an interim answer is not the answer's")
    func interim() throws {
        let server = try answering(
            "HTTP/1.1 103 Hints\r\nRetry-After: 60\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        #expect(try post(server.url) == .response(status: 503, retryAfter: nil))
    }
}
