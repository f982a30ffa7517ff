import Linux
import Support
import Testing

@testable import Upload

@Suite("which 2xx is believed")
struct BeliefTests {
    private static let id = "0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f"

    private func post(
        _ head: String, _ body: String, status: Int = 200, acknowledging id: String? = nil
    ) throws -> Seen {
        let server = try answering(
            "HTTP/1.1 \(status) OK\r\n\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let client = try httpClient()
        return client.ask([1], options(server.url), acknowledging: id, wakeup: try Wakeup()) { false }
    }

    @Test(
        "what the type has to do with it",
        arguments: [
            ("Content-Type: text/html\r\n", "stored", nil), ("", "<html>", .page), ("", "<p>", nil),
            ("Content-Type: text/html\r\n", "<p>", .page),
            ("Content-Type: text/html\r\nContent-Type: text/plain\r\n", "<p>", .page),
            ("Content-Type: text/html\r\n", "<br />\n<b>Fatal error</b>", .phpError),
            ("Content-Type: application/json\r\n", "<!doctype html>", .page),
            ("Content-Type: text/html; charset=utf-8\r\nContent-Encoding: gzip\r\n", "\u{1F}x", .page),
            ("content-encoding: br\r\ncontent-type: Text/HTML\r\n", "x", .page),
            ("Content-Encoding: gzip\r\nContent-Type: application/json\r\n", "\u{1F}x", nil),
            ("Content-Encoding: identity\r\nContent-Type: text/html\r\n", "ok", nil),
        ] as [(String, String, Doubt?)])
    func types(head: String, body: String, doubt: Doubt?) throws {
        #expect(try post(head, body) == .response(status: 200, retryAfter: nil, doubt: doubt))
    }

    @Test("only a 2xx is doubted", arguments: [301, 404, 503])
    func others(status: Int) throws {
        #expect(try post("", "<html>", status: status) == .response(status: status, retryAfter: nil))
    }

    @Test("what a 204 cannot have decides nothing")
    func withoutBody() throws {
        let server = try RawServer { link in
            link.request()
            link.send("HTTP/1.1 204 None\r\nContent-Length: 6\r\n\r\n<html>")
        }
        #expect(try plain(server.url) == .response(status: 204, retryAfter: nil))
        // Of a 205 the body is read like any other: it should have none.
        let other = try answering("HTTP/1.1 205 Reset\r\nContent-Length: 6\r\n\r\n<html>")
        #expect(try plain(other.url) == .response(status: 205, retryAfter: nil, doubt: .page))
    }

    @Test("a page that ends with the connection is one, too")
    func untilClose() throws {
        let server = try RawServer { link in
            link.request()
            link.send("HTTP/1.1 200 OK\r\n\r\n<html>")
        }
        #expect(try plain(server.url) == .response(status: 200, retryAfter: nil, doubt: .page))
    }

    private func plain(_ url: String) throws -> Seen {
        let client = try httpClient()
        return client.ask([1], options(url), wakeup: try Wakeup()) { false }
    }

    @Test(
        "an acknowledgement names the batch",
        arguments: [
            "{\"batch_id\":\"\(id)\"}", " {\"n\":1,\"batch_id\":\"\(id.uppercased())\",\"x\":[]}\n",
        ])
    func acknowledged(body: String) throws {
        #expect(try post("", body, acknowledging: Self.id) == .response(status: 200, retryAfter: nil))
    }

    private static let long =
        "{\"batch_id\":\"\(id)\",\"x\":\"" + String(repeating: "x", count: 65_536) + "\"}"

    @Test(
        "and anything else does not",
        arguments: [
            "", "{}", "\"\(id)\"", "[{\"batch_id\":\"\(id)\"}]", "{\"batch_id\":\"\(id)\"",
            "{\"a\":{\"batch_id\":\"\(id)\"}}", "{\"batch_id\":\"0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e10\"}",
            "{\"batch_id\":\"\(id)\",\"batch_id\":\"\(id)\"}", "{\"batch_id\":7}",
            "{\"batch_id\":\"\(id)\"}x", long,
        ])
    func acknowledgement(body: String) throws {
        let outcome = try post("", body, acknowledging: Self.id)
        #expect(outcome == .response(status: 200, retryAfter: nil, doubt: .noAck))
        #expect(try post("", body) == .response(status: 200, retryAfter: nil))
    }

    @Test("what is not read is not believed to be no page")
    func cutOff() throws {
        let blanks = String(repeating: "\n ", count: 40_000)
        let page = Seen.response(status: 200, retryAfter: nil, doubt: .page)
        #expect(try post("", blanks) == page)
        #expect(try post("", blanks + "<html>") == page)
        #expect(try post("", "{" + blanks) == .response(status: 200, retryAfter: nil))
        // This has been read to its end.
        #expect(try post("", "\n \n") == .response(status: 200, retryAfter: nil))
    }

    @Test("an acknowledgement that is compressed, or cut off, is none")
    func unreadable() throws {
        let body = "{\"batch_id\":\"\(Self.id)\"}"
        #expect(
            try post("Content-Encoding: gzip\r\n", body, acknowledging: Self.id)
                == .response(status: 200, retryAfter: nil, doubt: .noAck))
    }

    @Test("a doubted 2xx is permanent")
    func verdict() {
        #expect(Verdict(status: 200, retryAfter: nil, doubt: .page) == .permanent)
        #expect(Verdict(status: 204, retryAfter: nil, doubt: .noAck) == .permanent)
        #expect(Verdict(status: 200, retryAfter: nil) == .accepted)
        #expect(DrainOutcome.Failure(.page).rawValue == "page")
        #expect(DrainOutcome.Failure(.noAck).rawValue == "no_ack")
    }
}
