import FoundationEssentials
import NIOCore

/// What the verbs read of answers.
enum Answer {
    struct NewDevice: Decodable {
        var id: Int64
        var name: String
        var access: String
        var expires: String
        var refresh: String

        private enum CodingKeys: String, CodingKey {
            case id, name
            case access = "access_token"
            case expires = "expires_at"
            case refresh = "refresh_token"
        }
    }

    struct Devices: Decodable {
        struct Device: Decodable {
            var id: Int64
            var name: String
            var revoked: String?
            var seen: String?
        }

        var devices: [Device]
    }

    struct NewUser: Decodable {
        var token: String
    }

    struct Users: Decodable {
        struct User: Decodable {
            var name: String
            var role: String
        }

        var users: [User]
    }

    private struct Problem: Decodable {
        var detail: String
    }

    static func read<Value: Decodable>(_ type: Value.Type, _ bytes: ByteBuffer) throws -> Value {
        try JSONDecoder().decode(type, from: bytes.withUnsafeReadableBytes { Data($0) })
    }

    static func detail(_ bytes: ByteBuffer) -> String? {
        (try? read(Problem.self, bytes))?.detail
    }
}
