internal import CServerCrypto

/// The key with which this server signs what it tells vehicles to do (Ed25519, RFC 8032).
package final class SigningKey: @unchecked Sendable {
    // OpenSSL's key is only read, and freed with this object.
    private let handle: OpaquePointer

    /// A new one. nil when OpenSSL has no randomness for it.
    package init?() {
        guard let handle = cservercrypto_key_new() else { return nil }
        self.handle = handle
    }

    /// - Parameter pem: a private key, PKCS #8, without a pass phrase.
    /// - Returns: nil for anything else.
    package init?(pem: [UInt8]) {
        guard let handle = cservercrypto_key_read(pem, Int32(clamping: pem.count)) else { return nil }
        self.handle = handle
    }

    deinit {
        EVP_PKEY_free(handle)
    }

    /// The text of the file with the key, which nobody else may read.
    package var privatePEM: String { text(isPrivate: true) }

    /// For `verify_keys` of the vehicles.
    package var publicPEM: String { text(isPrivate: false) }

    private func text(isPrivate: Bool) -> String {
        var room = [CChar](repeating: 0, count: 1024)
        let count = cservercrypto_key_text(handle, isPrivate ? 1 : 0, &room, Int32(room.count))
        return String(decoding: room[..<Int(count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// - Returns: 64 bytes; nil when OpenSSL has no memory for it.
    package func signature(of bytes: [UInt8]) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: 64)
        return cservercrypto_sign(handle, bytes, bytes.count, &signature) == 1 ? signature : nil
    }
}
