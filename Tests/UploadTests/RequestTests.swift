import DaemonConfiguration
import Foundation
import Linux
import Support
import Testing

@testable import Upload

@Suite("what a request says")
struct RequestTests {
    private static let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

    @Test("the whole request, to the byte")
    func golden() throws {
        let server = try answering(Self.created)
        let url = "http://127.0.0.1:\(server.port)/a//b/../c%2f%20d;e?x=1&y=%C3%A9"
        let headers = [
            "Content-Type: application/json", "Content-Encoding: gzip", "X-Api-Key: s3cr%t \"x\"", "X-Empty;",
        ]
        #expect(
            try post(url, Array("abc\0d".utf8), headers: headers) == .response(status: 201, retryAfter: nil))
        #expect(
            server.requests == [
                """
                POST /a//b/../c%2f%20d;e?x=1&y=%C3%A9 HTTP/1.1\r
                Host: 127.0.0.1:\(server.port)\r
                User-Agent: beekond/1.2.3\r
                Content-Type: application/json\r
                Content-Encoding: gzip\r
                X-Api-Key: s3cr%t "x"\r
                X-Empty:\r
                Content-Length: 5\r
                \r
                abc\0d
                """
            ])
    }

    @Test(
        "another method has its own name and the same request",
        arguments: [Request.Method.post, .put, .patch])
    func method(method: Request.Method) throws {
        let server = try answering(Self.created)
        var options = options(server.url, headers: ["Content-Type: application/json"])
        options.method = method
        let client = try httpClient()
        let wakeup = try Wakeup()
        #expect(
            client.ask(Array("{}".utf8), options, wakeup: wakeup) { false }
                == .response(status: 201, retryAfter: nil))
        // The next one has nothing of it.
        options.method = .post
        _ = client.ask([], options, wakeup: wakeup) { false }
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("\(method.rawValue) /up HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\nContent-Length: 2\r\n\r\n{}"))
        #expect(server.requests.last?.hasPrefix("POST /up HTTP/1.1\r\n") == true)
    }

    @Test("an Accept that is configured is sent, once")
    func accept() throws {
        let server = try answering(Self.created)
        _ = try post(server.url, headers: ["Accept: application/json"])
        let request = try #require(server.requests.first)
        #expect(request.components(separatedBy: "Accept").count == 2)
        #expect(request.contains("\r\nAccept: application/json\r\n"))
    }

    @Test("a large body goes out without asking for leave first")
    func noExpect() throws {
        let server = try answering(Self.created)
        let body = [UInt8](repeating: 0x61, count: 3 << 20)
        #expect(try post(server.url, body) == .response(status: 201, retryAfter: nil))
        let request = try #require(server.requests.first)
        #expect(!request.contains("Expect"))
        #expect(request.utf8.count > body.count)
    }

    @Test("an empty body has a length as well")
    func empty() throws {
        let server = try answering(Self.created)
        #expect(try post(server.url, []) == .response(status: 201, retryAfter: nil))
        #expect(server.requests.first?.contains("Content-Length: 0\r\n") == true)
    }

    @Test("nothing of one request lingers in the next")
    func afresh() throws {
        let server = try answering(Self.created)
        let client = try httpClient()
        let wakeup = try Wakeup()
        let long = Array("a longer body".utf8)
        _ = client.ask(long, options(server.url, headers: ["X-Once: 1"]), wakeup: wakeup) { false }
        _ = client.ask([0x62], options(server.url), wakeup: wakeup) { false }
        #expect(server.requests.count == 2)
        #expect(
            server.requests.last?.hasSuffix(
                "Content-Length: 1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nb") == true)
        #expect(server.requests.last?.contains("X-Once") == false)
    }

    @Test("the scheme in any case")
    func scheme() throws {
        let server = try answering(Self.created)
        #expect(try post("HTTP://127.0.0.1:\(server.port)/") == .response(status: 201, retryAfter: nil))
    }

    @Test(
        "no other protocol is spoken", arguments: ["ftp", "gopher", "telnet", "dict", "smtp", "https", "ws"])
    func protocols(scheme: String) throws {
        let server = try RawServer { link in link.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") }
        #expect(try post("\(scheme)://127.0.0.1:\(server.port)/").isNetworkFailure)
        #expect(server.isAtRest())
        #expect(server.requests.isEmpty)
    }

    @Test("no file is read", arguments: ["file:///etc/hostname", "", "no url", "http://", "http:///x"])
    func noURL(text: String) throws {
        #expect(try post(text).isNetworkFailure)
    }

    @Test("neither proxies nor passwords are taken from the environment")
    func environment() async throws {
        await #expect(processExitsWith: .success) {
            let trap = try RawServer { link in
                if link.request() { link.send("HTTP/1.1 500 Trapped\r\nContent-Length: 0\r\n\r\n") }
            }
            let home = try TemporaryDirectory()
            try home.write(".netrc", Array("machine 127.0.0.1 login eve password secret\n".utf8))
            setenv("HOME", home.path, 1)
            for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                setenv(name, "http://127.0.0.1:\(trap.port)", 1)
            }
            let server = try answering("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
            #expect(try post(server.url) == .response(status: 201, retryAfter: nil))
            #expect(server.requests.first?.contains("Authorization") == false)
            #expect(trap.connections == 0)
        }
    }

    @Test("a proxy that is configured is used")
    func proxy() throws {
        let proxy = try answering(Self.created)
        var options = options("http://backend.invalid/up")
        options.proxy = "http://127.0.0.1:\(proxy.port)"
        let client = try httpClient()
        let outcome = client.ask([0x61], options, wakeup: try Wakeup()) { false }
        #expect(outcome == .response(status: 201, retryAfter: nil))
        #expect(proxy.requests.first?.hasPrefix("POST http://backend.invalid/up HTTP/1.1\r\n") == true)
    }
}
