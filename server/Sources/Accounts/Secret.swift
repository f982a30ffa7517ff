internal import CServerCrypto
internal import ServerStore

/// What a bearer shows: `bka.17.<43 characters>`. It says whose it is, so that one row is looked at and not all.
package struct Secret: Equatable, Sendable {
    /// The letters are part of the text, the numbers are stored.
    package enum Kind: Int64, CaseIterable, Sendable {
        /// A device's, for uploads; it expires.
        case access = 1
        /// A device's, which buys the next pair of tokens.
        case refresh = 2
        /// A user's, for programs.
        case user = 3
        /// A user's, of one browser; it expires.
        case session = 4
        /// The secret of a link that shows where a device is; it expires.
        case link = 5

        var letter: String {
            switch self {
            case .access: "a"
            case .refresh: "r"
            case .user: "u"
            case .session: "s"
            case .link: "l"
            }
        }
    }

    package let kind: Kind
    /// The device or user, by number.
    package let owner: Int64
    /// 32 random bytes, in base64url (RFC 4648).
    private let secret: String

    private static let size = 32
    private static let length = 43

    /// A new one.
    package init(_ kind: Kind, of owner: Int64) {
        self.kind = kind
        self.owner = owner
        secret = Base64URL.text(Self.random(Self.size))
    }

    /// - Returns: nil for what is no token of this form.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 80 else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = Kind.allCases.first(where: { parts[0] == "bk" + $0.letter }),
            let owner = Int64(parts[1]), owner > 0, String(owner) == parts[1],
            parts[2].utf8.count == Self.length, Base64URL.isText(parts[2])
        else { return nil }
        self.kind = kind
        self.owner = owner
        secret = String(parts[2])
    }

    /// The text that is shown once, and sent with each request.
    package var text: String { "bk\(kind.letter).\(owner).\(secret)" }

    /// What is stored of it. 256 random bits need no salt and no slow hash: nobody can try them.
    package var hash: [UInt8] { Digest.sha256(Array(text.utf8)) }

    /// What a page that knows the session shows with each change, and another site's page cannot know.
    package var companion: String {
        Digest.sha256(Array((text + " companion").utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }

    /// Whether this is the companion, in a time that does not tell how much of it is.
    package func hasCompanion(_ shown: String) -> Bool {
        let (own, shown) = (Array(companion.utf8), Array(shown.utf8))
        return own.count == shown.count && CRYPTO_memcmp(own, shown, own.count) == 0
    }

    /// Whether the hash is this token's, in a time that does not tell how much of it is.
    package func matches(_ stored: [UInt8]) -> Bool {
        let own = hash
        return stored.count == own.count && CRYPTO_memcmp(stored, own, own.count) == 0
    }

    static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        precondition(RAND_bytes(&bytes, Int32(count)) == 1, "libcrypto has no random numbers")
        return bytes
    }
}
