internal import CCrypto

/// An AES-256 key, and the name that envelopes refer to it by.
package struct TokenKey: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Bytes of a key.
    package static let size = Int(CCRYPTO_KEY)
    /// Bytes of its name.
    static let idSize = 8

    /// The first eight bytes of its SHA-256: tells keys apart and reveals nothing about them.
    package let id: [UInt8]
    fileprivate let bytes: [UInt8]

    /// The content of a key file or a credential: 32 bytes are the key itself; anything longer, such as a key written as
    /// text, is hashed, without one line break at its end.
    ///
    /// - Returns: nil when there are fewer than 32 bytes.
    package init?(material: [UInt8]) {
        var material = material
        if material.count != Self.size, material.last == UInt8(ascii: "\n") { material.removeLast() }
        guard material.count >= Self.size, material.count <= 4096 else { return nil }
        bytes = material.count == Self.size ? material : SHA256.digest(material)
        id = Array(SHA256.digest(bytes).prefix(Self.idSize))
    }

    /// The name, in hexadecimal digits.
    package var description: String { SHA256.hex(id) }

    /// Without children, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// SHA-256 (FIPS 180-4), by libcrypto.
package enum SHA256 {
    /// 32 bytes.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(CCRYPTO_SHA256))
        // Fails only for want of memory, and then nothing that follows could be trusted.
        guard ccrypto_sha256(bytes, bytes.count, &digest) == 1 else { fatalError("libcrypto has no SHA-256") }
        return digest
    }

    /// Two lower case digits a byte.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// Bytes sealed with AES-256-GCM (NIST SP 800-38D).
///
/// Magic (4 bytes), version (1), key id (8), nonce (12), ciphertext, tag (16). Everything before the nonce is authenticated
/// with the text, and so is the destination whose tokens they are, unless it is `main`, and the nonce is part of the cipher: no byte can change unnoticed.
package enum TokenEnvelope {
    /// Bytes of a nonce. Random for each write: 2³² writes with one key are safe.
    package static let nonceSize = Int(CCRYPTO_NONCE)
    /// Bytes: the longest envelope.
    package static let limit = 1 << 20
    private static let magic = Array("BKTK".utf8)
    private static let version: UInt8 = 1
    private static let headerSize = 4 + 1 + TokenKey.idSize
    private static let tagSize = Int(CCRYPTO_TAG)

    /// Why an envelope cannot be opened.
    package enum Refusal: Error, Equatable, Sendable {
        /// The envelope was made by a later version.
        case newerVersion
        /// The key that it names is missing.
        case unknownKey
        /// The key is there and does not open the envelope; or it is not an envelope at all.
        case damaged
    }

    /// - Parameters:
    ///   - owner: without it the envelope cannot be opened.
    ///   - nonce: ``nonceSize`` random bytes, never used twice with a key.
    /// - Returns: nil only when libcrypto has no memory, or the nonce is of another size.
    package static func seal(
        _ text: [UInt8], with key: TokenKey, of owner: String = "", nonce: [UInt8]
    ) -> [UInt8]? {
        guard nonce.count == nonceSize, text.count < limit else { return nil }
        let header = magic + [version] + key.id
        let known = header + Array(owner.utf8)
        var sealed = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: tagSize)
        guard
            ccrypto_seal(
                key.bytes, nonce, known, Int32(known.count), text, Int32(text.count), &sealed, &tag) == 1
        else { return nil }
        return header + nonce + sealed + tag
    }

    /// What was sealed.
    ///
    /// - Parameters:
    ///   - keys: all that might fit; the envelope names the one it needs.
    ///   - owner: as it was sealed.
    package static func open(
        _ bytes: [UInt8], with keys: [TokenKey], of owner: String = ""
    ) throws(Refusal) -> [UInt8] {
        guard bytes.count >= headerSize + nonceSize + tagSize, bytes.count <= limit, bytes.starts(with: magic)
        else { throw .damaged }
        guard bytes[4] == version else { throw bytes[4] > version ? .newerVersion : .damaged }
        let header = Array(bytes.prefix(headerSize))
        guard let key = keys.first(where: { header.suffix(TokenKey.idSize).elementsEqual($0.id) }) else {
            throw .unknownKey
        }
        let known = header + Array(owner.utf8)
        let nonce = Array(bytes[headerSize..<headerSize + nonceSize])
        let sealed = Array(bytes[(headerSize + nonceSize)..<(bytes.count - tagSize)])
        var text = [UInt8](repeating: 0, count: sealed.count)
        guard
            ccrypto_open(
                key.bytes, nonce, known, Int32(known.count), sealed, Int32(sealed.count), &text,
                Array(bytes.suffix(tagSize))) == 1
        else { throw .damaged }
        return text
    }
}
