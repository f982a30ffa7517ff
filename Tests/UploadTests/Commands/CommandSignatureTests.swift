import Base
import DaemonConfiguration
import Foundation
import Testing

@testable import Upload

@Suite("signed commands")
struct CommandSignatureTests {
    private typealias Signer = CommandSamples.Signer
    private static let signer = Signer(seed: 1)
    private static let sync = CommandSamples.sync(
        "https://a.example/",
        CommandSamples.rules { $0.verifyKeys = [Signer(seed: 2).key, signer.key] })

    private func refusal(_ body: String) -> CommandListRefusal.Kind? {
        if case .refused(let refusal) = CommandSamples.hear(body, Self.sync) { refusal.kind } else { nil }
    }

    /// RFC 8032, section 7.1, test 3.
    @Test("the standard's own example")
    func standard() throws {
        let hex: (String) -> [UInt8] = { text in
            stride(from: 0, to: text.count, by: 2).compactMap {
                UInt8(text.dropFirst($0).prefix(2), radix: 16)
            }
        }
        let key = try #require(
            Settings.VerifyKey(hex("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025")))
        let signature = hex(
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                + "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a")
        #expect(Ed25519.verify(signature, of: [0xAF, 0x82], by: [key]))
        #expect(!Ed25519.verify(signature, of: [0xAF, 0x83], by: [key]))
        #expect(!Ed25519.verify(signature.dropLast(), of: [0xAF, 0x82], by: [key]))
        #expect(!Ed25519.verify(signature, of: [0xAF, 0x82], by: []))
    }

    @Test("what one of the keys has signed is heard, with its counter and its end")
    func signed() throws {
        for signer in [Signer(seed: 1), Signer(seed: 2)] {
            let heard = try CommandSamples.commands(signer.body(Signer.message()), Self.sync)
            #expect(heard.commands.map(\.request) == [.stop])
            #expect(heard.warrant?.counter == CommandSamples.counter)
            #expect(heard.warrant?.expiresAt.milliseconds == 1_781_000_600_000)
            #expect(heard.commands[0].warrant == heard.warrant)
        }
        let text = Signer.message(expiresAt: #""2026-06-09T10:23:20+00:00""#)
        let heard = try CommandSamples.commands(Self.signer.body(text), Self.sync)
        #expect(heard.warrant?.expiresAt.milliseconds == 1_781_000_600_000)
        let upper = Signer.message(vehicle: CommandSamples.installID.uppercased())
        #expect(try CommandSamples.commands(Self.signer.body(upper), Self.sync).commands.count == 1)
        let guide = Signer.message().replacing("commands", with: "background_geolocation")
            .replacing(#"[{"id":"s-1","command":"stop"}]"#, with: #"["start"]"#)
        #expect(try CommandSamples.commands(Self.signer.body(guide), Self.sync).commands[0].request == .start)
    }

    @Test("a list for vehicles without keys may stand beside it, and counts only there")
    func both() throws {
        let signed = Self.signer.body(Signer.message()).dropLast()
        let body = signed + #","commands":[{"id":"p","command":"start"}]}"#
        #expect(try CommandSamples.commands(String(body), Self.sync).commands.map(\.id) == ["s-1"])
        #expect(try CommandSamples.commands(String(body)).commands.map(\.id) == ["p"])
    }

    @Test("anything else is refused")
    func refused() {
        #expect(refusal(#"{"commands":[{"id":"1","command":"stop"}]}"#) == .unsigned)
        #expect(refusal(Signer(seed: 3).body(Signer.message())) == .badSignature)
        #expect(refusal(Self.signer.body(Signer.message(vehicle: "x"))) == .otherVehicle)
        for counter in ["0", "-1", "1.5", "9007199254740993", "\"1\"", "null"] {
            #expect(refusal(Self.signer.body(Signer.message(counter: counter))) == .malformed)
        }
        for end in ["1781000600000", "-1", "\"tomorrow\"", "null", "true"] {
            #expect(refusal(Self.signer.body(Signer.message(expiresAt: end))) == .malformed)
        }
        if case .refused(let refusal) = CommandSamples.hear(Self.signer.body(Signer.message())) {
            #expect(refusal.kind == .noKeys)
        } else {
            Issue.record("heard without keys")
        }
    }

    @Test("a signature with any byte changed is none, nor is one of another message")
    func changed() {
        let message = Array(Signer.message().utf8)
        let signature = Self.signer.signature(of: message)
        for index in signature.indices {
            var other = signature
            other[index] ^= 1
            #expect(refusal(Self.signer.body(Signer.message(), signature: other)) == .badSignature)
        }
        for count in [0, 63, 65] {
            let other = Array((signature + [0]).prefix(count))
            #expect(refusal(Self.signer.body(Signer.message(), signature: other)) == .badSignature)
        }
        #expect(refusal(Self.signer.body(Signer.message("[]"), signature: signature)) == .badSignature)
    }
}
