internal import Glibc
package import Linux

/// What this installation shows when it enrols at a backend: 128 random bits, so that nobody else can ask in its place, and
/// it can ask again when the answer was lost. Kept in the state directory (0600) until the installation is another one.
package struct EnrolmentNonce: Equatable, Sendable {
    /// The file in the state directory.
    static let name = "enrolment-nonce"
    private static let digits = 32

    /// 32 hexadecimal digits.
    package let text: String

    /// - Returns: nil for anything but 32 hexadecimal digits.
    private init?(_ bytes: some Collection<UInt8>) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.count == Self.digits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            return nil
        }
        self.text = text.lowercased()
    }

    private init(using random: inout some RandomNumberGenerator) {
        text = (0..<Self.digits).map { _ in
            String(UInt8.random(in: 0...15, using: &random), radix: 16)
        }.joined()
    }

    /// The nonce that is kept, else a new one. When this returns, a power cut cannot undo it: only then may it be sent.
    ///
    /// - Throws: when it cannot be read or kept; one that is not kept must not be sent.
    package static func keep(
        in directory: StateDirectory, using random: inout some RandomNumberGenerator
    ) throws(SystemError) -> EnrolmentNonce {
        if let bytes = try directory.read(name, limit: 4096), let known = EnrolmentNonce(line(of: bytes)) {
            return known
        }
        let nonce = EnrolmentNonce(using: &random)
        try directory.replace(name, with: Array((nonce.text + "\n").utf8))
        return nonce
    }

    /// A script may have written it.
    private static func line(of bytes: [UInt8]) -> some Collection<UInt8> {
        bytes.prefix { $0 > UInt8(ascii: " ") }
    }
}
