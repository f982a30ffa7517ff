internal import DaemonConfiguration

/// How one request is made, but for its body.
package struct HTTPOptions: Equatable, Sendable {
    /// The request method.
    package var method = Request.Method.post
    /// Used verbatim.
    package var url: String
    /// Complete lines, `Name: value`.
    package var headers: [String]
    /// Names the program and its version.
    package var userAgent: String
    /// Seconds for the whole request.
    package var timeout: Double
    /// PEM, instead of the system's authorities; nil for those.
    package var caFile: String?
    /// PEM, for mutual TLS; nil for none.
    package var clientCertificate: String?
    /// PEM, the key of the client certificate.
    package var clientKey: String?
    /// nil for none: the environment is never asked.
    package var proxy: String?
    /// Whose TLS sessions it may resume; nil for none, and then it leaves none behind either.
    package var identity: SessionIdentity?

    /// Without files and proxy: the system's authorities, a direct connection. Without an identity: no sessions.
    package init(
        url: String, headers: [String], userAgent: String, timeout: Double, caFile: String? = nil,
        clientCertificate: String? = nil, clientKey: String? = nil, proxy: String? = nil,
        identity: SessionIdentity? = nil
    ) {
        self.url = url
        self.headers = headers
        self.userAgent = userAgent
        self.timeout = timeout
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.proxy = proxy
        self.identity = identity
    }
}
