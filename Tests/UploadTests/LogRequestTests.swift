import Envelope
import Testing

@testable import DaemonConfiguration
@testable import Upload

@Suite("the log on its way to a server")
struct LogRequestTests {
    @Test(
        "it goes to the origin of the destination, whatever follows host and port there",
        arguments: [
            ("https://api.example.com/v1/batches", "https://api.example.com/v1/logs"),
            ("https://api.example.com", "https://api.example.com/v1/logs"),
            ("http://127.0.0.1:8080/a/b?token=x#y", "http://127.0.0.1:8080/v1/logs"),
            ("https://user:pass@[::1]:9/a", "https://user:pass@[::1]:9/v1/logs"),
            ("https://h.example?q=/a", "https://h.example/v1/logs"),
        ])
    func place(url: String, expected: String) throws {
        let request = try #require(LogRequest.request(Array("a line\n".utf8)))
        #expect(request.url(url) == expected)
    }

    @Test("it is text, compressed, with the headers and the token of the destination")
    func head() throws {
        let request = try #require(LogRequest.request(Array("a line\n".utf8)))
        #expect(Gunzip.beginning(of: request.body, limit: 100) == Array("a line\n".utf8))
        var sync = Settings.Sync()
        sync.url = "https://api.example.com/v1/batches"
        sync.headers = [.init(name: "X-Key", value: Secret("k"))]
        let options = RequestFactory(sync, version: "0.1.0").options(
            for: request, authorization: "Bearer t")
        #expect(options.url == "https://api.example.com/v1/logs")
        #expect(options.method == .post)
        #expect(
            options.headers == [
                "Content-Type: text/plain; charset=utf-8", "Content-Encoding: gzip", "X-Key: k",
                "Authorization: Bearer t",
            ])
    }

    @Test("a request with rows goes where it always went")
    func rows() {
        #expect(BeekonFormat.request(body: []).url("https://h.example/a?b#c") == "https://h.example/a?b#c")
    }
}
