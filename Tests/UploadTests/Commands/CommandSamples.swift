import Base
import CCrypto
import DaemonConfiguration
import Foundation
import Testing

@testable import Envelope
@testable import Upload

/// A server that gives commands, and a vehicle that hears them.
enum CommandSamples {
    static let batch: UUIDv7 = {
        guard let id = UUIDv7("0190d4e2-7b1a-7c3e-9f10-2a4b6c8d0e1f") else { preconditionFailure("no id") }
        return id
    }()
    static let installID = "0190d4e2-0000-7000-8000-00000000000a"
    static let counter: Int64 = 1_781_000_000_000
    /// The counter is of this moment.
    static let time = Timestamp(milliseconds: counter)

    /// Everything is allowed, and a few settings.
    static func rules(_ change: (inout Settings.Commands) -> Void = { _ in }) -> Settings.Commands {
        var rules = Settings.Commands()
        rules.allow = Set(Settings.Commands.Name.allCases)
        rules.settings = [
            "tracking.interval_seconds", "tracking.schedule", "sync.interval_seconds", "extras",
        ]
        change(&rules)
        return rules
    }

    static func sync(
        _ url: String = "https://a.example/in", _ rules: Settings.Commands = rules(),
        _ change: (inout Settings.Sync) -> Void = { _ in }
    ) -> Settings.Sync {
        var sync = Settings.Sync()
        sync.url = url
        sync.commands = rules
        change(&sync)
        return sync
    }

    static func answer(
        _ body: some Sequence<UInt8>, status: Int = 200, headers: [String] = [], isCut: Bool = false
    ) -> Answer {
        var (head, start) = (AnswerHead(), AnswerBody())
        for line in headers { Array((line + "\r\n").utf8).withUnsafeBytes { _ = head.read($0) } }
        let text = Array(body)
        start.append(text)
        return Answer(status: status, head, start, isCut: isCut, text: text)
    }

    static func hear(
        _ body: String, _ sync: Settings.Sync = sync(), from destination: DestinationName = .main
    ) -> Hearing {
        CommandIntake.hear(answer(body.utf8), to: batch, from: destination, sync, installID: installID)
    }

    /// What must be heard.
    static func commands(
        _ body: String, _ sync: Settings.Sync = sync(), from destination: DestinationName = .main
    ) throws -> HeardCommands {
        guard case .commands(let heard) = hear(body, sync, from: destination) else {
            throw Unheard(hearing: hear(body, sync, from: destination))
        }
        return heard
    }

    struct Unheard: Error { let hearing: Hearing }

    /// A pair of keys made of one byte.
    struct Signer {
        let seed: UInt8

        private func withKey<Result>(_ body: (OpaquePointer?) -> Result) -> Result {
            // 1087 is NID_ED25519.
            let key = EVP_PKEY_new_raw_private_key(1087, nil, [UInt8](repeating: seed, count: 32), 32)
            defer { EVP_PKEY_free(key) }
            return body(key)
        }

        var key: Settings.VerifyKey {
            withKey { key in
                var (bytes, count) = ([UInt8](repeating: 0, count: 32), 32)
                precondition(EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1)
                guard let key = Settings.VerifyKey(bytes) else { preconditionFailure("no key") }
                return key
            }
        }

        func signature(of message: [UInt8]) -> [UInt8] {
            withKey { key in
                let context = EVP_MD_CTX_new()
                defer { EVP_MD_CTX_free(context) }
                var (bytes, count) = ([UInt8](repeating: 0, count: 64), 64)
                precondition(EVP_DigestSignInit(context, nil, nil, nil, key) == 1)
                precondition(EVP_DigestSign(context, &bytes, &count, message, message.count) == 1)
                return bytes
            }
        }

        /// The body of an answer.
        func body(_ message: String, signature: [UInt8]? = nil) -> String {
            let bytes = Array(message.utf8)
            let mark = Data(signature ?? self.signature(of: bytes)).base64EncodedString()
            return #"{"signed":"\#(Data(bytes).base64EncodedString())","signature":"\#(mark)"}"#
        }

        /// What is signed of a list.
        static func message(
            _ commands: String = #"[{"id":"s-1","command":"stop"}]"#, vehicle: String = installID,
            counter: String = "\(CommandSamples.counter)", expiresAt: String = "1781000600"
        ) -> String {
            #"{"install_id":"\#(vehicle)","counter":\#(counter),"expires_at":\#(expiresAt),"commands":\#(commands)}"#
        }
    }
}
