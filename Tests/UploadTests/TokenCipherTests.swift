import Support
import Testing

@testable import Upload

@Suite("the envelope of the tokens")
struct TokenCipherTests {
    private static let key = sample(7)
    private static let nonce = [UInt8](0..<12)
    private static let text = Array("attack at dawn".utf8)

    private static func sample(_ byte: UInt8) -> TokenKey {
        guard let key = TokenKey(material: [UInt8](repeating: byte, count: 32)) else { fatalError("no key") }
        return key
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue).map { UInt8($0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Why it stays shut; nil when it opens.
    private func refusal(_ bytes: [UInt8], _ keys: [TokenKey] = [key]) -> TokenEnvelope.Refusal? {
        do throws(TokenEnvelope.Refusal) {
            _ = try TokenEnvelope.open(bytes, with: keys)
            return nil
        } catch { return error }
    }

    @Test("opens with its key, whatever other keys there are")
    func opens() throws {
        for text in [Self.text, [], [UInt8](repeating: 1, count: 100_000)] {
            let sealed = try #require(TokenEnvelope.seal(text, with: Self.key, nonce: Self.nonce))
            #expect(sealed.count == text.count + 41)
            #expect(try TokenEnvelope.open(sealed, with: [Self.sample(8), Self.key, Self.sample(9)]) == text)
            #expect(refusal(sealed, [Self.sample(8)]) == .unknownKey)
            #expect(refusal(sealed, []) == .unknownKey)
        }
    }

    @Test("is AES-256-GCM: test case 16 of its authors, with our header for associated data in a second run")
    func standard() throws {
        // McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B: key, nonce and text of cases 15 and 16.
        // The ciphertext does not depend on the associated data.
        let key = try #require(
            TokenKey(material: Self.bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        )
        let text = Self.bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
                + "b16aedf5aa0de657ba637b391aafd255")
        let cipher = Self.bytes(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838"
                + "c5f61e6393ba7a0abcc9f662898015ad")
        let sealed = try #require(
            TokenEnvelope.seal(text, with: key, nonce: Self.bytes("cafebabefacedbaddecaf888")))
        #expect(Array(sealed[25..<(sealed.count - 16)]) == cipher)
        #expect(Array(sealed.prefix(13)) == Array("BKTK".utf8) + [1] + key.id)
    }

    @Test("is SHA-256 that names keys (FIPS 180-4, the one block message)")
    func digest() throws {
        #expect(
            SHA256.hex(SHA256.digest(Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(SHA256.hex(SHA256.digest([])).hasPrefix("e3b0c44298fc1c14"))
        #expect(Self.key.id == Array(SHA256.digest([UInt8](repeating: 7, count: 32)).prefix(8)))
    }

    @Test("stays shut when any bit of it has changed, or any byte is missing or added")
    func tampered() throws {
        let sealed = try #require(TokenEnvelope.seal(Self.text, with: Self.key, nonce: Self.nonce))
        for index in sealed.indices {
            for bit in 0..<8 {
                var other = sealed
                other[index] ^= 1 << UInt8(bit)
                let expected: TokenEnvelope.Refusal =
                    switch index {
                    case 4: other[4] > 1 ? .newerVersion : .damaged
                    case 5..<13: .unknownKey
                    default: .damaged
                    }
                #expect(refusal(other) == expected, "byte \(index), bit \(bit)")
            }
            #expect(refusal(Array(sealed[..<index])) != nil)
            #expect(refusal(Array(sealed[index...].dropFirst())) != nil)
        }
        #expect(refusal(sealed + [0]) == .damaged)
        #expect(refusal([]) == .damaged)
        #expect(refusal([UInt8](repeating: 0, count: sealed.count)) == .damaged)
        #expect(refusal([UInt8](repeating: 0, count: 2 << 20)) == .damaged)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<1000 {
            let noise = (0..<Int.random(in: 0...200, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(refusal(noise) != nil)
            #expect(refusal(Array(sealed.prefix(13)) + noise) != nil)
        }
    }

    @Test("wants a nonce of twelve bytes")
    func nonces() {
        for count in [0, 11, 13, 16] {
            #expect(
                TokenEnvelope.seal(Self.text, with: Self.key, nonce: [UInt8](repeating: 0, count: count))
                    == nil)
        }
    }

    @Test("a key is 32 bytes, or a text of more, with or without a line end")
    func keys() throws {
        #expect(TokenKey(material: []) == nil)
        #expect(TokenKey(material: [UInt8](repeating: 65, count: 31)) == nil)
        #expect(
            TokenKey(material: [UInt8](repeating: 65, count: 31) + [10] + []) != nil, "32 bytes, as they are")
        let text = Array("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=".utf8)
        let key = try #require(TokenKey(material: text))
        #expect(key == TokenKey(material: text + [10]))
        #expect(TokenKey(material: [UInt8](repeating: 65, count: 5000)) == nil)
        var dumped = ""
        dump(Self.key, to: &dumped)
        #expect(dumped.contains(SHA256.hex(Self.key.id)) && !dumped.contains("7, 7"))
    }
}
