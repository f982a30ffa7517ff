import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import Page

@Suite("addresses of tiles") struct TileSourceTests {
    @Test(
        "what the policy lets the browser fetch from",
        arguments: [
            ("https://tile.example.org/{z}/{x}/{y}.png", "https://tile.example.org"),
            ("https://{s}.tile.example.org/{z}/{x}/{y}.png?key=a", "https://*.tile.example.org"),
            ("http://127.0.0.1:8081/{z}/{x}/{y}.png", "http://127.0.0.1:8081"),
        ]) func origins(url: String, origin: String) throws
    {
        #expect(try TileSource(url: url).origin == origin)
    }

    @Test(
        "what is refused",
        arguments: [
            "", "tile.example.org/{z}/{x}/{y}", "https://tile.example.org/", "ftp://a/{z}/{x}/{y}",
            "https:///{z}/{x}/{y}", "https://a;script-src *//{z}/{x}/{y}", "https://a b/{z}/{x}/{y}",
            "https://a/{z}/{x}/{y} b", "https://user@a/{z}/{x}/{y}", "https://*/{z}/{x}/{y}",
            "https://a/{z}/{x}/{y}" + String(repeating: "x", count: 1000),
        ]) func refusals(url: String)
    {
        #expect(throws: TileSource.Invalid.self) { try TileSource(url: url) }
    }
}

@Suite("the page's files") struct FleetPageTests {
    let folder = FileManager.default.temporaryDirectory.path + "/page-\(UInt64.random(in: 0 ... .max))"

    func page(tiles: TileSource? = nil, script: String = "export {}") throws -> FleetPage {
        let manager = FileManager.default
        for name in ["js", "leaflet"] {
            try manager.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        let texts = [
            "index.html": "{{tiles}}|{{attribution}}|{{modules}}|{{version}}",
            "shared.html": "{{tiles}}|{{version}}", "worker.js": "{{version}}", "js/main.js": script,
            "style.css": String(repeating: "a{}", count: 100), "notes.txt": "not served",
            "leaflet/leaflet.css": "", "leaflet/leaflet.esm.min.js": "export {}",
        ]
        for (name, text) in texts { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        return try FleetPage(folder: folder, leaflet: "\(folder)/leaflet", tiles: tiles)
    }

    func ask(
        _ page: FleetPage, _ path: String, _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:]
    )
        -> Response?
    {
        let head = HTTPRequest(
            method: method, scheme: nil, authority: "localhost", path: path, headerFields: fields)
        return page.response(to: Request(head: head, body: RequestBody(buffer: ByteBuffer())))
    }

    @Test("what each path is answered with") func paths() throws {
        let page = try page()
        let kept = "public, max-age=31536000, immutable"
        let version = try #require(try Self.version(of: page))
        for (path, type, caching) in [
            ("/", "text/html; charset=utf-8", "no-cache"),
            ("/shared", "text/html; charset=utf-8", "no-cache"),
            ("/page/\(version)/js/main.js", "text/javascript; charset=utf-8", kept),
            ("/page/\(version)/style.css", "text/css; charset=utf-8", kept),
            ("/page/\(version)/leaflet/leaflet.css", "text/css; charset=utf-8", kept),
            // Of a server that is a version ahead.
            ("/page/0000000000000000/js/main.js", "text/javascript; charset=utf-8", "no-cache"),
        ] {
            let response = try #require(ask(page, path))
            #expect(response.status == .ok, "\(path)")
            #expect(response.headers[.contentType] == type)
            #expect(response.headers[.cacheControl] == caching)
            #expect(response.headers[.contentSecurityPolicy]?.contains("script-src 'self';") ?? false)
        }
        for path in [
            "/page/", "/page/\(version)", "/page/\(version)/", "/page/\(version)/notes.txt",
            "/page/\(version)/index.html", "/page/\(version)/shared.html",
            "/page/\(version)/../index.html", "/page/x/%2e%2e/index.html",
        ] {
            #expect(ask(page, path)?.status == .notFound, "\(path)")
        }
        #expect(ask(page, "/v1/devices") == nil && ask(page, "/health/live") == nil)
        #expect(ask(page, "/", .post)?.status == .methodNotAllowed)
        #expect(ask(page, "/", .head)?.status == .ok)
        let referrer = try #require(HTTPField.Name("Referrer-Policy"))
        #expect(ask(page, "/shared")?.headers[referrer] == "no-referrer")
        #expect(ask(page, "/")?.headers[referrer] == "strict-origin-when-cross-origin")
    }

    static func version(of page: FleetPage) throws -> String? {
        Mirror(reflecting: page).children.first { $0.label == "version" }?.value as? String
    }

    @Test("what the browser has already is not sent again; gzip for those that take it") func conditions()
        throws
    {
        let page = try page()
        let path = "/page/x/style.css"
        let tag = try #require(ask(page, path)?.headers[.eTag])
        #expect(ask(page, path, .get, [.ifNoneMatch: "\"other\", \(tag)"])?.status == .notModified)
        #expect(ask(page, path, .get, [.ifNoneMatch: "\"other\""])?.status == .ok)
        #expect(ask(page, path)?.headers[.contentEncoding] == nil)
        #expect(ask(page, path, .get, [.acceptEncoding: "br, gzip"])?.headers[.contentEncoding] == "gzip")
        #expect(ask(page, path, .get, [.acceptEncoding: "gzip;q=0"])?.headers[.contentEncoding] == nil)
    }

    @Test("another script is another version, and what the operator says is text") func filling() throws {
        let first = try page()
        let second = try page(
            tiles: TileSource(url: "https://a.example/{z}/{x}/{y}", attribution: #""><script>"#),
            script: "export { }")
        #expect(try Self.version(of: first) != Self.version(of: second))
        let text = FleetPage.filled(
            "{{a}} {{modules}}", ["a": #"<"&">"#, "version": "v"], modules: ["js/m.js"])
        #expect(
            text == #"&lt;&quot;&amp;&quot;&gt; <link rel="modulepreload" href="/page/v/js/m.js">"#)
        #expect(FleetPage.policy(images: nil).contains("img-src 'self' data:;"))
        #expect(FleetPage.policy(images: "https://a.example").contains("data: https://a.example;"))
    }

    @Test("without its files there is no page") func missing() {
        #expect(throws: FleetPage.Missing.self) {
            try FleetPage(folder: folder + "/none", leaflet: folder, tiles: nil)
        }
    }
}
