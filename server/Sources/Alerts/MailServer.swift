/// An address of mail in the form that all servers take: nothing that is quoted, no comments, ASCII. It stands in a header and in a
/// command of SMTP as it is.
package struct MailAddress: Equatable, Sendable {
    package let text: String

    /// Bytes; RFC 5321 allows no more.
    private static let longest = 254

    /// - Returns: nil for anything else, line breaks above all.
    package init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.longest, parts.count == 2, (1...64).contains(parts[0].utf8.count),
            // It would be an option of some programs.
            !parts[0].hasPrefix("-")
        else { return nil }
        let words = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard words.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Self.isOfWord) }), Self.isDomain(parts[1])
        else { return nil }
        self.text = text
    }

    var domain: Substring { text[text.index(after: text.lastIndex(of: "@") ?? text.startIndex)...] }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "!#$%&'*+-/=?^_`{|}~".utf8.contains(byte)
    }

    /// Whether it has the form of a host's name.
    package static func isDomain(_ text: Substring) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}

/// Where mail is handed in, and whose it is.
package struct MailServer: Equatable, Sendable {
    /// What is wrong with a setting.
    package struct Invalid: Error, Equatable {
        package var reason: String
    }

    /// `smtp://host:port` or `smtps://host:port`.
    package let url: String
    /// The sender.
    package let from: MailAddress
    /// The sender's name for people; empty: none.
    package let fromName: String
    package var user: String?
    package var password: String?
    /// Authorities that are believed instead of the machine's; nil: those.
    package var caFile: String?
    /// The connection must be encrypted: by `smtps`, or by STARTTLS before anything is said.
    package let isEncrypted: Bool
    /// The server is on this machine.
    package let isLocal: Bool

    /// - Parameters:
    ///   - url: `smtp://host[:port]` or `smtps://host[:port]`.
    ///   - from: `fleet@example.org`, or `Our fleet <fleet@example.org>`.
    ///   - mayBePlain: a server elsewhere may be spoken to without encryption.
    package init(url: String, from: String, mayBePlain: Bool = false) throws(Invalid) {
        let isTLS = url.hasPrefix("smtps://")
        guard isTLS || url.hasPrefix("smtp://") else {
            throw Invalid(reason: "the address of a mail server begins with smtp:// or smtps://")
        }
        var rest = url.dropFirst(isTLS ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        guard let host = Self.host(rest) else {
            throw Invalid(
                reason:
                    "the address of a mail server is smtp://host or smtp://host:port, with nothing behind it"
            )
        }
        self.url = (isTLS ? "smtps://" : "smtp://") + rest
        isLocal = WebAddress.isLocal(host)
        isEncrypted = isTLS || !(isLocal || mayBePlain)
        guard let (name, address) = Self.sender(from) else {
            throw Invalid(
                reason:
                    "the sender of mail is an address, such as fleet@example.org or Our fleet <fleet@example.org>"
            )
        }
        self.from = address
        fromName = name
    }

    private static func sender(_ text: String) -> (name: String, address: MailAddress)? {
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            return MailAddress(text).map { ("", $0) }
        }
        var name = text[..<open]
        while name.last == " " { name = name.dropLast() }
        guard name.utf8.count <= 200, name.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 }),
            let address = MailAddress(String(text[text.index(after: open)...].dropLast()))
        else { return nil }
        return (String(name), address)
    }

    /// - Returns: nil when it is not `host` or `host:port`.
    private static func host(_ text: Substring) -> Substring? {
        guard text.utf8.count <= 300, text.utf8.allSatisfy({ (33...126).contains($0) }),
            !text.contains(where: { "@/?#\\\"<>".contains($0) })
        else { return nil }
        let end =
            text.hasPrefix("[")
            ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
        let host = end.map { text[..<$0] } ?? text
        guard !host.isEmpty else { return nil }
        let port = end.map { text[$0...] } ?? ""
        guard port.isEmpty || (port.hasPrefix(":") && UInt16(port.dropFirst()).map { $0 > 0 } == true) else {
            return nil
        }
        return host
    }
}

/// Addresses by http and https.
package enum WebAddress {
    /// Bytes.
    package static let longest = 2000

    /// - Returns: why it cannot be one; nil: it can.
    package static func complaint(about text: String) -> String? {
        let lower = text.lowercased()
        guard lower.hasPrefix("https://") || lower.hasPrefix("http://") else {
            return "an address begins with https:// or http://"
        }
        guard text.utf8.count <= longest else { return "an address has \(longest) bytes at most" }
        guard text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            return "an address has no spaces and nothing but ASCII"
        }
        return host(text).isEmpty ? "an address names a host" : nil
    }

    /// The host of one that is valid.
    package static func host(_ text: String) -> Substring {
        guard let start = text.firstRange(of: "://")?.upperBound else { return "" }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        if place.hasPrefix("[") { return place.firstIndex(of: "]").map { place[...$0] } ?? "" }
        return place.prefix { $0 != ":" }
    }

    /// Whether a host is this machine, as it is written.
    package static func isLocal(_ host: Substring) -> Bool {
        let host = host.lowercased()
        guard host != "localhost", host != "[::1]" else { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
