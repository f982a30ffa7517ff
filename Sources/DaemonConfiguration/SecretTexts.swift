internal import Envelope

/// Texts that no message may show. What is masked where it comes from is no secret any more by then; this is for what has
/// found its way into a message all the same.
package struct SecretTexts: Sendable {
    /// Characters. Shorter ones would be found everywhere.
    private static let shortest = 4

    /// The longest first: one may be part of another.
    private let texts: [String]
    /// Paths as they are written, and as they may be shown; the longest first.
    private let paths: [(text: String, shown: String)]

    /// - Parameter addresses: of their paths, all that may be a key.
    package init(_ texts: some Sequence<String>, addresses: some Sequence<String> = []) {
        var found = Set(texts)
        var whole: Set<String> = []
        for address in addresses {
            let parts = Settings.pathParts(of: address)
            found.formUnion(parts.filter(PathWords.isKey))
            whole.insert("/" + parts.joined(separator: "/"))
        }
        self.texts = found.filter { $0.utf8.count >= Self.shortest && !$0.contains(Secret.mask) }
            .sorted { ($0.utf8.count, $0) > ($1.utf8.count, $1) }
        paths = whole.map { ($0, PathWords.masked(path: $0)) }.filter { $0.text != $0.shown }
            .sorted { ($0.text.utf8.count, $0.text) > ($1.text.utf8.count, $1.text) }
    }

    /// The text with `(set)` in the place of each of them.
    package func hidden(in text: String) -> String {
        let known = paths.reduce(text) { $0.replacingBytes(of: $1.text, with: $1.shown) }
        return texts.reduce(known) { $0.replacingBytes(of: $1, with: Secret.mask) }
    }
}

extension String {
    /// With another text wherever these bytes, at least one, stand. Compared as characters a secret would not be found
    /// before a combining mark, which makes another character of its last one and leaves it to be read.
    package func replacingBytes(of text: String, with other: String) -> String {
        let parts = Array(utf8).split(separator: Array(text.utf8), omittingEmptySubsequences: false)
        guard parts.count > 1 else { return self }
        return String(decoding: Array(parts.joined(separator: Array(other.utf8))), as: UTF8.self)
    }
}

extension Settings.Sync {
    /// Every secret in them, as a message might show it.
    package var secretTexts: [String] {
        var found = headers.map(\.value.text) + format.secretTexts
        if let auth {
            found += [auth.accessToken, auth.refreshToken].compactMap { $0?.text }
            found += auth.refreshPayload.map(\.value.text) + auth.refreshHeaders.map(\.value.text)
        }
        // Behind "Bearer ", "Basic " and the like.
        let credentials = found.flatMap { $0.split(separator: " ").dropFirst().map { String($0) } }
        return found + credentials + credentials.flatMap(Self.passwords)
            + addresses.flatMap(Self.secrets(inAddress:))
    }

    /// Where anything is sent.
    package var addresses: [String] { [url, proxy, auth?.refreshURL].compactMap(\.self) }

    /// What a header of scheme Basic says: user and password, of which the password alone is a secret.
    private static func passwords(_ credentials: String) -> [String] {
        guard let bytes = Base64.decode(credentials.utf8), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return [] }
        return [String(decoding: bytes[(colon + 1)...], as: UTF8.self)]
    }

    /// User info and query, in parts, as they are written and as they are meant.
    private static func secrets(inAddress address: String) -> [String] {
        guard let start = address.firstRange(of: "://")?.upperBound else { return [] }
        let rest = address[start...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let user = authority.lastIndex(of: "@").map { String(authority[..<$0]) } ?? ""
        let query = rest[authority.endIndex...].drop { $0 != "?" && $0 != "#" }.dropFirst()
        let values = query.split(separator: "&").compactMap { part in
            part.firstIndex(of: "=").map { String(part[part.index(after: $0)...]) }
        }
        // Of user info the password alone: a user's name is a word that may stand anywhere.
        let found = values + user.split(separator: ":", maxSplits: 1).dropFirst().map { String($0) }
        return found + found.map(Self.percentDecoded)
    }

    private static func percentDecoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Settings {
    /// What stands between the slashes behind the host.
    package static func pathParts(of address: String) -> [String] {
        guard let start = address.firstRange(of: "://")?.upperBound else { return [] }
        let path = address[start...].prefix { $0 != "?" && $0 != "#" }
        return path.split(separator: "/").dropFirst().map { String($0) }
    }
}
