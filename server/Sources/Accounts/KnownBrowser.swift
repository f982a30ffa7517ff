internal import Base
internal import CServerCrypto
internal import ServerStore

/// What a browser shows that a user has logged in from before: `bkk.17.1803859200.<43 characters>`, with the number of the user
/// and the end in Unix seconds. It gives no right but to wait among those who have one too, apart from strangers.
///
/// It is signed by what is stored of the password, so that nothing more is stored, any server knows it, and it ends with a new
/// password.
package struct KnownBrowser: Equatable, Sendable {
    /// Seconds for which it is good, from the login on.
    package static let lifetime = 90 * 86_400.0

    /// The user, by number.
    let account: Int64
    /// Unix seconds.
    private let end: Int64
    /// HMAC-SHA-256 (RFC 2104).
    private let mark: [UInt8]

    init(of password: StoredPassword, now: Timestamp) {
        account = password.account
        end = now.advanced(bySeconds: Self.lifetime).milliseconds / 1000
        mark = Self.mark(of: account, until: end, password)
    }

    /// - Returns: nil for what is none of this form.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 100 else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "bkk", let account = Int64(parts[1]), let end = Int64(parts[2]),
            let mark = Base64URL.bytes(parts[3]), mark.count == 32
        else { return nil }
        (self.account, self.end, self.mark) = (account, end, mark)
    }

    /// The value of the cookie.
    package var text: String { "bkk.\(account).\(end).\(Base64URL.text(mark))" }

    /// Whether it was made for the user with this password, and has not ended; in a time that does not tell how much of it is
    /// right.
    func isGood(for password: StoredPassword, now: Timestamp) -> Bool {
        let own = Self.mark(of: password.account, until: end, password)
        return CRYPTO_memcmp(own, mark, own.count) == 0 && account == password.account
            && now.milliseconds / 1000 < end
    }

    private static func mark(of account: Int64, until end: Int64, _ password: StoredPassword) -> [UInt8] {
        let key = Digest.sha256(password.salt + password.hash) + [UInt8](repeating: 0, count: 32)
        let message = Array("known browser \(account) \(end)".utf8)
        return Digest.sha256(key.map { $0 ^ 0x5C } + Digest.sha256(key.map { $0 ^ 0x36 } + message))
    }
}
