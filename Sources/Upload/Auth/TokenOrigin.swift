/// Where tokens may be sent. Another scheme or port of the same host may be somebody else, whom a user of the machine has
/// chosen.
package struct TokenOrigin: Equatable, Sendable, Codable {
    /// In lower case.
    package let scheme: String
    /// In lower case.
    package let host: String
    /// The usual one of the scheme when the URL has none.
    package let port: Int
    /// Without user info. Only for http: a proxy sees nothing of what passes through it by https.
    package let proxy: String?

    /// - Parameter proxy: nil for none; not kept unless it can read what it passes on.
    package init(scheme: String, host: String, port: Int, proxy: String?) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.proxy = scheme == "https" ? nil : proxy
    }

    /// Whether tokens for this may be sent to `other`. Nobody else sees them when a proxy is left out.
    package func covers(_ other: TokenOrigin) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
            && (other.proxy == nil || other.proxy == proxy)
    }

    /// Whether tokens may be sent here of which an earlier version knew only the host: no other port of it can show
    /// the certificate of that host.
    func isSafe(forHost host: String) -> Bool {
        scheme == "https" && self.host == host
    }
}
