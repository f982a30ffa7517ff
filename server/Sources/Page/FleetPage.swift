internal import FoundationEssentials
internal import HTTPTypes
package import Hummingbird
internal import NIOCore

/// The page for people: files that are read once, at the start, and sent as they are.
///
/// All of them but the first lie below `/page/VERSION/`, where the version is a digest of them all: a browser keeps them for
/// ever, and asks for others as soon as one has changed.
package struct FleetPage: Sendable {
    /// By path, with what a page of that path tells the sites that it asks for images.
    private let pages: [String: (file: PageFile, referrer: String)]
    private let files: [String: PageFile]
    private let version: String
    private let policy: String

    /// Why there is no page.
    package struct Missing: Error {
        package let reason: String
    }

    /// Bytes of all files.
    private static let most = 8 << 20
    /// Pages by path. Tile servers want to know which site asks; the view is behind the # and never sent. What a link shows says
    /// nothing to anybody, not even where it was opened. A worker serves what lies below its own path.
    private static let paths = [
        ("/", "index.html", "strict-origin-when-cross-origin"), ("/shared", "shared.html", "no-referrer"),
        ("/worker.js", "worker.js", "no-referrer"),
    ]
    /// What the page needs of Leaflet.
    private static let ofLeaflet = ["leaflet.esm.min.js", "leaflet.css"]

    /// - Parameters:
    ///   - folder: the page's own files, `index.html` among them.
    ///   - leaflet: the folder of Leaflet (Debian: `libjs-leaflet`).
    ///   - tiles: nil: no other server is asked for pictures.
    ///   - map: what this server has of them itself; nil: nothing.
    package init(
        folder: String, leaflet: String, tiles: TileSource?, map: MapFile? = nil
    ) throws(Missing) {
        var contents: [String: [UInt8]] = [:]
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        for name in names.sorted() where name.contains(".") {
            contents[name] = try Self.read("\(folder)/\(name)", of: contents)
        }
        for name in Self.ofLeaflet {
            contents["leaflet/\(name)"] = try Self.read("\(leaflet)/\(name)", of: contents)
        }
        var templates: [String: [UInt8]] = [:]
        for (_, name, _) in Self.paths {
            guard let template = contents.removeValue(forKey: name) else {
                throw Missing(reason: "\(folder)/\(name) is not there")
            }
            templates[name] = template
        }
        var known: [String: PageFile] = [:]
        for (name, bytes) in contents { known[name] = PageFile(name: name, bytes: bytes) }
        let digests = known.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.digest)" }
        version = PageFile.digest(of: Array(digests.joined(separator: "\n").utf8))
        let modules = known.keys.filter { $0.hasPrefix("js/") && $0.hasSuffix(".js") }.sorted()
        var pages: [String: (PageFile, String)] = [:]
        for (path, name, referrer) in Self.paths {
            let text = Self.filled(
                String(decoding: templates[name] ?? [], as: UTF8.self),
                [
                    "version": version, "tiles": tiles?.url ?? "", "attribution": tiles?.attribution ?? "",
                    "map": map?.pageText ?? "", "map-attribution": map?.description.attribution ?? "",
                ], modules: modules)
            guard let page = PageFile(name: name, bytes: Array(text.utf8)) else {
                throw Missing(reason: "\(folder)/\(name) is not usable")
            }
            pages[path] = (page, referrer)
        }
        self.pages = pages
        self.files = known
        policy = Self.policy(images: tiles?.origin)
    }

    private static func read(_ path: String, of others: [String: [UInt8]]) throws(Missing) -> [UInt8] {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else {
            throw Missing(reason: "\(path) cannot be read")
        }
        guard others.values.reduce(data.count, { $0 + $1.count }) <= most else {
            throw Missing(reason: "its files have more than \(most) bytes, with \(path)")
        }
        return Array(data)
    }

    /// `{{name}}` stands for a value; `{{modules}}` for links by which the browser fetches all scripts at once.
    static func filled(_ template: String, _ values: [String: String], modules: [String]) -> String {
        var text = template
        let links = modules.map { #"<link rel="modulepreload" href="/page/{{version}}/\#($0)">"# }
        text = text.replacing("{{modules}}", with: links.joined(separator: "\n"))
        for (name, value) in values {
            let escaped = value.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
                .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
            text = text.replacing("{{\(name)}}", with: escaped)
        }
        return text
    }

    /// What the page may load: its own files, and images from where the tiles are. No script but from a file of its own runs.
    static func policy(images origin: String?) -> String {
        // Leaflet shows an empty picture while a tile is on its way.
        let images = "'self' data:" + (origin.map { " " + $0 } ?? "")
        return
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src \(images); connect-src 'self'; "
            + "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    }

    /// - Returns: nil for a path that is none of the page's.
    package func response(to request: Request) -> Response? {
        let path = request.uri.path
        let file: PageFile?
        // Another server of the fleet may be a version ahead: its page gets our files, but must not keep them.
        var isKept = false
        var referrer = "strict-origin-when-cross-origin"
        if let page = pages[path] {
            (file, referrer) = page
        } else if path.hasPrefix("/page/") {
            let parts = path.dropFirst(6).split(separator: "/", maxSplits: 1)
            isKept = parts.first.map { $0 == version } ?? false
            file = parts.count == 2 ? files[String(parts[1])] : nil
        } else {
            return nil
        }
        guard let file else { return Response(status: .notFound, headers: shared) }
        guard request.method == .get || request.method == .head else {
            var headers = shared
            headers[.allow] = "GET, HEAD"
            return Response(status: .methodNotAllowed, headers: headers)
        }
        var response = response(file, to: request, isKept: isKept)
        if let name = HTTPField.Name("Referrer-Policy") { response.headers[name] = referrer }
        return response
    }

    private func response(_ file: PageFile, to request: Request, isKept: Bool) -> Response {
        var headers = shared
        headers[.eTag] = "W/\"\(file.digest)\""
        headers[.cacheControl] = isKept ? "public, max-age=31536000, immutable" : "no-cache"
        headers[.vary] = "Accept-Encoding"
        if Self.names(file.digest, in: request.headers[.ifNoneMatch] ?? "") {
            return Response(status: .notModified, headers: headers)
        }
        headers[.contentType] = file.mediaType
        var bytes = file.plain
        if let packed = file.packed, Self.takesGzip(request.headers[.acceptEncoding] ?? "") {
            headers[.contentEncoding] = "gzip"
            bytes = packed
        }
        if request.method == .head {
            headers[.contentLength] = String(bytes.readableBytes)
            return Response(status: .ok, headers: headers)
        }
        return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: bytes))
    }

    private var shared: HTTPFields {
        var fields = HTTPFields()
        fields[.contentSecurityPolicy] = policy
        fields[.xContentTypeOptions] = "nosniff"
        for (name, value) in [
            ("Referrer-Policy", "strict-origin-when-cross-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }

    static func names(_ digest: String, in header: String) -> Bool {
        header.split(separator: ",").contains { part in
            let tag = part.drop { $0 == " " }
            return tag == "*" || tag.hasSuffix("\"\(digest)\"")
        }
    }

    static func takesGzip(_ header: String) -> Bool {
        header.lowercased().split(separator: ",").contains { part in
            let words = part.split(separator: ";").map { $0.filter { $0 != " " } }
            return words.first == "gzip"
                && !words.dropFirst().contains { $0 == "q=0" || $0.hasPrefix("q=0.000") }
        }
    }
}
