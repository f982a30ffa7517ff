internal import CCrypto
internal import DaemonConfiguration

/// Signatures with Ed25519 (RFC 8032), by libcrypto.
enum Ed25519 {
    /// Bytes of a signature.
    static let signatureSize = Int(CCRYPTO_ED25519_SIGNATURE)

    /// Whether one of the keys has signed the message.
    static func verify(_ signature: [UInt8], of message: [UInt8], by keys: [Settings.VerifyKey]) -> Bool {
        guard signature.count == signatureSize else { return false }
        return keys.contains { ccrypto_ed25519_verify($0.bytes, signature, message, message.count) == 1 }
    }
}
