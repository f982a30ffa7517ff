/// A pair of tokens as they are sent. Prints as `(set)` wherever it is described, interpolated or dumped.
package struct Tokens: Equatable, Sendable, Codable, CustomStringConvertible, CustomReflectable {
    /// Sent with every upload; nil: refresh first.
    package var access: String?
    /// Gets the next pair; nil: the access token is all there is.
    package var refresh: String?
    /// When the access token expires, in Unix seconds; nil: nobody said, or no clock could be trusted then.
    package var expiresAt: Int64?
    /// Seconds from the exchange that brought it until then; nil for a seed.
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

    /// Whether there is neither of the two.
    package var isEmpty: Bool { access == nil && refresh == nil }

    /// Differs whenever one of the tokens or the expiry does, and reveals nothing about them.
    package var digest: String {
        let parts = [access, refresh, expiresAt.map { "\($0)" }].map {
            $0.map { "\($0.utf8.count):\($0)" } ?? "-"
        }
        return SHA256.hex(SHA256.digest(Array(parts.joined(separator: ",").utf8)))
    }

    /// Whether a text can be a token: it has to survive in a header line.
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
    /// Path of the access token.
    package var accessToken: String?
    /// Path of the refresh token.
    package var refreshToken: String?
    /// Path of the expiry, as a moment.
    package var expiresAt: String?
    /// Path of the expiry, in seconds from now.
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
