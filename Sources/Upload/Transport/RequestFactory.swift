package import Base
package import DaemonConfiguration
internal import FoundationEssentials

/// Makes requests to one destination: where they go, what goes with each of them, and how long they may take.
package struct RequestFactory: Sendable {
    /// Where batches go.
    package var url: String
    /// Headers that go with every batch, the login among them.
    package var headers: [(name: String, value: String)]
    /// What holds for every request, to the token endpoint as well.
    private let common: HTTPOptions

    /// - Parameter version: that of beekond.
    package init(_ sync: Settings.Sync, version: String) {
        url = sync.url
        // A type of the configuration's is frozen with the body that it is of.
        headers =
            sync.headers.filter { $0.name.lowercased() != "content-type" }.map { ($0.name, $0.value.text) }
            + Self.login(sync)
        common = HTTPOptions(
            url: sync.url, headers: [], userAgent: "beekond/" + version, timeout: sync.timeoutSeconds,
            caFile: sync.caFile, clientCertificate: sync.clientCertificate, clientKey: sync.clientKey,
            proxy: sync.proxy, identity: SessionIdentity(sync))
    }

    /// Tells a server that a batch comes again, where the body does not (draft-ietf-httpapi-idempotency-key-header, in which
    /// the value is in quotation marks; servers in use do without them).
    private static let idempotencyKey = "Idempotency-Key"

    /// Where a format has a login of its own: RFC 7617.
    private static func login(_ sync: Settings.Sync) -> [(name: String, value: String)] {
        guard case .owntracks(let own) = sync.format, own.mqtt == nil, let user = own.username?.text,
            let password = own.password?.text
        else { return [] }
        return [("Authorization", "Basic " + Data("\(user):\(password)".utf8).base64EncodedString())]
    }

    /// For a batch.
    ///
    /// - Parameters:
    ///   - batch: its id; nil for a request that is none.
    ///   - authorization: replaces a header `Authorization` of the configuration; nil leaves that one alone.
    package func options(
        for request: Request, of batch: UUIDv7? = nil, authorization: String?
    ) -> HTTPOptions {
        let key = batch.map { ["\(Self.idempotencyKey): \($0)"] } ?? []
        let coding = request.encoding.map { ["Content-Encoding: " + $0] } ?? []
        let fixed = headers.filter { authorization == nil || $0.name.lowercased() != "authorization" }
        let own = request.headers.filter { own in
            !headers.contains { $0.name.lowercased() == own.name.rawValue.lowercased() }
        }
        var options = common
        options.url = request.url(url)
        options.headers =
            [HTTPOptions.typeLine(request.contentType)] + coding
            + (request.format.traits.namesBatch ? [] : key)
            + own.map { HTTPOptions.line($0.name.rawValue, $0.value) }
            + fixed.map { HTTPOptions.line($0.name, $0.value) }
            + (authorization.map { ["Authorization: " + $0] } ?? [])
        options.method = request.method
        return options
    }

    /// For an exchange with the token endpoint.
    package func options(for request: TokenRequest) -> HTTPOptions {
        var options = common
        (options.url, options.headers) = (request.url, request.headers)
        options.timeout = TokenRequest.timeout
        return options
    }
}

extension HTTPOptions {
    /// Without a type, libcurl would name one of its own.
    static func typeLine(_ type: String?) -> String {
        type.map { "Content-Type: " + $0 } ?? "Content-Type:"
    }

    /// A header line for libcurl, which takes "Name:" for a header to be left out, and "Name;" for an empty one.
    static func line(_ name: String, _ value: String) -> String {
        value.isEmpty ? name + ";" : "\(name): \(value)"
    }
}
