package import DaemonConfiguration

/// Makes requests to one destination: where they go, what goes with each of them, and how long they may take.
package struct RequestFactory: Sendable {
    /// Where batches go.
    package var url: String
    /// Headers that go with every batch, the login among them.
    package var headers: [(name: String, value: String)]
    /// Names the program and its version.
    package var userAgent: String
    /// Seconds for a whole request.
    package var timeout: Double
    /// PEM, instead of the system's authorities; nil for those.
    package var caFile: String?
    /// PEM, for mutual TLS; nil for none.
    package var clientCertificate: String?
    /// PEM, the key of the client certificate.
    package var clientKey: String?
    /// nil for none: the environment is never asked.
    package var proxy: String?
    /// Whose TLS sessions the requests may resume; nil for none.
    package var identity: SessionIdentity?

    /// - Parameter version: that of beekond.
    package init(_ sync: Settings.Sync, version: String) {
        url = sync.url
        headers = sync.standingHeaders.map { ($0.name, $0.value.text) }
        userAgent = "beekond/" + version
        timeout = sync.timeoutSeconds
        caFile = sync.caFile
        clientCertificate = sync.clientCertificate
        clientKey = sync.clientKey
        proxy = sync.proxy
        identity = SessionIdentity(sync)
    }

    /// For a batch.
    ///
    /// - Parameter authorization: replaces a header `Authorization` of the configuration; nil leaves that one alone.
    package func options(for request: Request, authorization: String?) -> HTTPOptions {
        let coding = request.encoding.map { ["Content-Encoding: " + $0] } ?? []
        let fixed = headers.filter { authorization == nil || $0.name.lowercased() != "authorization" }
        let own = request.headers.filter { own in
            !headers.contains { $0.name.lowercased() == own.name.rawValue.lowercased() }
        }
        return options(
            url: request.url(url),
            headers: [HTTPOptions.typeLine(request.contentType)] + coding
                + own.map { HTTPOptions.line($0.name.rawValue, $0.value) }
                + fixed.map { HTTPOptions.line($0.name, $0.value) }
                + (authorization.map { ["Authorization: " + $0] } ?? []),
            timeout: timeout)
    }

    /// For an exchange with the token endpoint.
    package func options(for request: TokenRequest) -> HTTPOptions {
        options(url: request.url, headers: request.headers, timeout: TokenRequest.timeout)
    }

    private func options(url: String, headers: [String], timeout: Double) -> HTTPOptions {
        HTTPOptions(
            url: url, headers: headers, userAgent: userAgent, timeout: timeout, caFile: caFile,
            clientCertificate: clientCertificate, clientKey: clientKey, proxy: proxy, identity: identity)
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
