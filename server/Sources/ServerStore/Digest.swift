internal import CServerCrypto

/// SHA-256 (FIPS 180-4).
package enum Digest {
    /// 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let done = bytes.withUnsafeBytes { cservercrypto_sha256($0.baseAddress, $0.count, &digest) }
        precondition(done == 1, "libcrypto has no SHA-256")
        return digest
    }

    /// The first eight bytes of SHA-256: enough to tell the extras of one device apart.
    static func short(_ bytes: [UInt8]) -> Int64 {
        Int64(bitPattern: sha256(bytes).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
