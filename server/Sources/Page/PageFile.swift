internal import CServerCrypto
internal import NIOCore

/// One file of the page, as it is sent.
struct PageFile: Sendable {
    let mediaType: String
    let plain: ByteBuffer
    /// nil where packing gains nothing.
    let packed: ByteBuffer?
    /// Digest of the content, in hexadecimal.
    let digest: String

    /// nil for a kind of file that the page has no use for.
    init?(name: String, bytes: [UInt8]) {
        guard let mediaType = Self.mediaTypes[String(name.split(separator: ".").last ?? "")] else {
            return nil
        }
        self.mediaType = mediaType
        plain = ByteBuffer(bytes: bytes)
        let packed = mediaType.hasPrefix("image/png") ? nil : Packing.gzip(bytes)
        self.packed = packed.flatMap { $0.count < bytes.count ? ByteBuffer(bytes: $0) : nil }
        digest = Self.digest(of: bytes)
    }

    private static let mediaTypes = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "css": "text/css; charset=utf-8", "json": "application/json", "svg": "image/svg+xml",
        "png": "image/png", "webmanifest": "application/manifest+json",
    ]

    /// The first 16 digits of SHA-256: enough to tell versions of one file apart.
    static func digest(of bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        let done = bytes.withUnsafeBytes { cservercrypto_sha256($0.baseAddress, $0.count, &digest) }
        precondition(done == 1, "libcrypto has no SHA-256")
        return digest.prefix(8).map { byte in
            let text = String(byte, radix: 16)
            return text.count < 2 ? "0" + text : text
        }.joined()
    }
}
