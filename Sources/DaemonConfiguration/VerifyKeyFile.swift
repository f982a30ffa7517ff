internal import Envelope
import Glibc

/// A PEM file with the public key of a server, as `openssl pkey -pubout` writes it.
enum VerifyKeyFile {
    private static let maxBytes = 4096
    /// What precedes an Ed25519 key in its encoding (RFC 8410, section 4).
    private static let header: [UInt8] = [
        0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]

    /// - Throws: why it cannot be used, and what to do.
    static func read(_ path: String) throws(OpenFile.Refusal) -> (key: Settings.VerifyKey, warning: String?) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            throw OpenFile.Refusal(message: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        defer { _ = close(descriptor) }
        let (bytes, exposure) = try OpenFile.readAll(descriptor, limit: maxBytes)
        let key = try key(in: bytes)
        // Everybody may read it; who can change it can command this vehicle.
        guard exposure == .everybodyWrites else { return (key, nil) }
        return (
            key, "\(path): everybody can change this key, and then command this vehicle; chmod o-w \(path)"
        )
    }

    /// The one key in a PEM file.
    static func key(in bytes: [UInt8]) throws(OpenFile.Refusal) -> Settings.VerifyKey {
        let lines = bytes.split(separator: 10).map { line in
            String(decoding: line, as: UTF8.self).trimmed
        }
        if lines.contains(where: { $0.hasPrefix("-----BEGIN") && $0.hasSuffix("PRIVATE KEY-----") }) {
            throw OpenFile.Refusal(
                message:
                    "holds a private key, which belongs on the server alone; write its public half with openssl pkey "
                    + "-pubout")
        }
        guard let start = lines.firstIndex(of: "-----BEGIN PUBLIC KEY-----"),
            let end = lines[start...].firstIndex(of: "-----END PUBLIC KEY-----"),
            !lines[end...].dropFirst().contains("-----BEGIN PUBLIC KEY-----")
        else {
            throw OpenFile.Refusal(
                message: "is not a PEM file with one public key; openssl pkey -pubout writes one")
        }
        let text = lines[lines.index(after: start)..<end].joined()
        guard let encoded = Base64.decode(text.utf8), encoded.starts(with: header),
            let key = Settings.VerifyKey(Array(encoded.dropFirst(header.count)))
        else {
            throw OpenFile.Refusal(
                message: "holds no Ed25519 key; make one with openssl genpkey -algorithm ed25519")
        }
        return key
    }
}

extension String {
    /// Without the carriage return and the blanks at its ends.
    fileprivate var trimmed: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
