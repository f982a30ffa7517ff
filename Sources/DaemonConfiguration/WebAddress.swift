/// The parts of an absolute URL that decide whether it may be used. The URL itself is sent as written.
struct WebAddress {
    static let maxBytes = 2048

    let scheme: String
    let host: String
    /// nil when the scheme's own is meant.
    let port: Int?
    /// Whether there is user info.
    let hasUser: Bool
    let hasSecrets: Bool
    /// Whether there is neither user info nor anything after the port.
    let hasOnlyHost: Bool

    /// nil when `text` is no absolute URL with a host, or has characters that must be percent-encoded.
    init?(_ text: String) {
        let forbidden: [UInt8] = Array("\"<>\\^`{|}".utf8)
        guard text.utf8.count <= Self.maxBytes, let colon = text.firstRange(of: "://"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !forbidden.contains($0) })
        else { return nil }
        scheme = text[..<colon.lowerBound].lowercased()
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let at = authority.lastIndex(of: "@")
        let place = at.map { authority[authority.index(after: $0)...] } ?? authority
        guard let (host, port) = Self.split(place), Self.isPort(port) else { return nil }
        self.host = host.lowercased()
        self.port = port.flatMap { Int($0) }
        hasUser = at != nil
        hasOnlyHost = at == nil && ["", "/"].contains(rest[authority.endIndex...])
        hasSecrets = at != nil || rest[authority.endIndex...].contains { $0 == "?" || $0 == "#" }
    }

    /// On this host, where nobody can listen in: http is good enough.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.first == "127"
            && parts.allSatisfy { (UInt8($0)?.description ?? "") == $0 }
    }

    /// The URL with `(set)` for its user info and its query.
    static func redacted(_ text: String) -> String {
        guard let colon = text.firstRange(of: "://") else { return text.isEmpty ? "" : Secret.mask }
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let tail = rest[authority.endIndex...]
        let path = tail.prefix { $0 != "?" && $0 != "#" }
        let place =
            authority.lastIndex(of: "@").map { "\(Secret.mask)\(authority[$0...])" } ?? String(authority)
        return text[..<colon.upperBound] + place + path
            + (path.endIndex < tail.endIndex ? "?\(Secret.mask)" : "")
    }

    private static func split(_ place: Substring) -> (host: Substring, port: Substring?)? {
        if place.hasPrefix("[") {
            guard let end = place.firstIndex(of: "]") else { return nil }
            let host = place[place.index(after: place.startIndex)..<end]
            let after = place[place.index(after: end)...]
            let isAddress = host.contains(":") && host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
            guard isAddress, after.isEmpty || after.hasPrefix(":") else { return nil }
            return (host, after.isEmpty ? nil : after.dropFirst())
        }
        let host = place.prefix { $0 != ":" }
        let isName = host.allSatisfy { $0.isLetter || $0.isNumber || ".-_".contains($0) }
        guard !host.isEmpty, isName else { return nil }
        let after = place[host.endIndex...]
        return (host, after.isEmpty ? nil : after.dropFirst())
    }

    private static func isPort(_ text: Substring?) -> Bool {
        guard let text else { return true }
        return text.allSatisfy(\.isNumber) && (Int(text).map { (1...65535).contains($0) } ?? false)
    }
}

extension Settings {
    /// The URL as it may be shown: `(set)` stands for user info and query.
    package static func redacted(url: String) -> String { WebAddress.redacted(url) }

    /// Whom a URL leads to: its scheme, its host and its port; nil when it is none.
    package static func target(of url: String) -> (scheme: String, host: String, port: Int)? {
        guard let address = WebAddress(url) else { return nil }
        let ports = ["http": 80, "https": 443, "mqtt": 1883, "mqtts": 8883]
        // 1080 is what libcurl takes for every kind of proxy.
        return (address.scheme, address.host, address.port ?? ports[address.scheme] ?? 1080)
    }

    /// Scheme, login, host and port of a URL, as they are written, and nothing of what follows.
    package static func origin(of url: String) -> String {
        guard let colon = url.firstRange(of: "://") else { return url }
        return String(url[..<colon.upperBound]) + url[colon.upperBound...].prefix { !"/?#".contains($0) }
    }

    /// Whether nobody on the way can change an answer: by TLS, or because there is no way to another host.
    ///
    /// - Parameter proxy: that connections are made through; nil: none.
    package static func isTrustedWay(_ url: String, proxy: String?) -> Bool {
        guard let address = WebAddress(url) else { return false }
        if address.scheme == "https" { return true }
        return address.scheme == "http" && address.isLoopback
            && (proxy.map { WebAddress($0)?.isLoopback == true } ?? true)
    }

    /// Whether two URLs have the same scheme, host and port, however they are spelt.
    package static func areSamePlace(_ url: String, _ other: String) -> Bool {
        Place(url, "url").map { $0 == Place(other, "url") } ?? false
    }
}

extension Rules {
    static func webURL(_ text: String) -> String? { url(text, ["http", "https"]) }

    /// Which of these schemes go with the format shows only in the whole.
    static func destinationURL(_ text: String) -> String? { url(text, ["http", "https", "mqtt", "mqtts"]) }

    private static func url(_ text: String, _ schemes: Set<String>) -> String? {
        if text.isEmpty { return nil }
        guard let address = WebAddress(text), schemes.contains(address.scheme) else {
            return """
                not a usable URL; write an absolute one of at most \(WebAddress.maxBytes) bytes without spaces, \
                such as "https://api.example.com/locations"
                """
        }
        return nil
    }

    static func proxyURL(_ text: String) -> String? {
        let schemes = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"]
        guard let address = WebAddress(text), schemes.contains(address.scheme) else {
            return "not a proxy; write a URL such as \"http://proxy.example.com:3128\" or \"socks5h://…\""
        }
        return nil
    }
}
