/// A pair of tokens as they are sent. Prints as `(set)` wherever it is described, interpolated or dumped.
package struct Tokens: Equatable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// Goes with every upload; nil: refresh first.
    package var access: String?
    /// Fetches the next pair; nil: the access token is all there is.
    package var refresh: String?
    /// When the access token expires, in Unix seconds; nil: nobody has said, or no clock could be trusted then.
    package var expiresAt: Int64?
    /// Seconds from the moment it was adopted until then; nil for a seed.
    package var lifetime: Double?

    /// No tokens, unless given.
    package init(
        access: String? = nil, refresh: String? = nil, expiresAt: Int64? = nil, lifetime: Double? = nil
    ) {
        self.access = access
        self.refresh = refresh
        self.expiresAt = expiresAt
        self.lifetime = lifetime
    }

    /// Neither of the two.
    package var isEmpty: Bool { access == nil && refresh == nil }

    /// Differs when one of the tokens or the expiry does, in whatever way; tells nothing of them.
    package var digest: String {
        let parts = [access, refresh, expiresAt.map { "\($0)" }].map {
            $0.map { "\($0.utf8.count):\($0)" } ?? "-"
        }
        return SHA256.hex(SHA256.digest(Array(parts.joined(separator: ",").utf8)))
    }

    /// Whether a text can be a token: it must go through a header line unharmed.
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= 65_536
            && text.unicodeScalars.allSatisfy {
                switch $0.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: false
                default: true
                }
            }
    }

    /// Never a token.
    package var description: String { "Tokens(set)" }
    /// Without children, so that `dump` shows nothing either.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Dot paths into the answer of a token endpoint; nil: the usual names are tried.
package struct TokenMapping: Equatable, Sendable {
    /// Where the access token stands.
    package var accessToken: String?
    /// Where the refresh token stands.
    package var refreshToken: String?
    /// Where the expiry stands, as a moment.
    package var expiresAt: String?
    /// Where the expiry stands, in seconds from now.
    package var expiresIn: String?

    /// No paths, unless given.
    package init(
        accessToken: String? = nil, refreshToken: String? = nil, expiresAt: String? = nil,
        expiresIn: String? = nil
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.expiresIn = expiresIn
    }
}
