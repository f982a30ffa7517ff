internal import FoundationEssentials

/// Checks that every message must pass before it reaches a JSON parser.
enum MessageCheck {
    /// Throws unless `frame` is UTF-8, starts like an object, and nests at most `Limits.depth` levels.
    static func run(_ frame: [UInt8]) throws(ProtocolViolation) {
        guard String(validating: frame, as: UTF8.self) != nil else { throw .notUTF8 }
        guard let first = frame.first(where: { !isSpace($0) }), first == UInt8(ascii: "{") else {
            throw .malformed("not a JSON object")
        }
        guard depth(of: frame) <= Limits.depth else { throw .tooDeep }
    }

    /// Decodes a checked message; on failure, says briefly what is wrong.
    static func decode<T: Decodable>(_ type: T.Type, _ frame: [UInt8]) throws(ProtocolViolation) -> T {
        do {
            return try JSONDecoder().decode(type, from: Data(frame))
        } catch {
            throw .malformed(describe(error))
        }
    }

    /// The maximum nesting depth of arrays and objects. Brackets inside strings do not count.
    private static func depth(of frame: [UInt8]) -> Int {
        var depth = 0
        var deepest = 0
        var inString = false
        var escaped = false
        for byte in frame {
            if escaped {
                escaped = false
            } else if inString {
                if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
            } else {
                switch byte {
                case UInt8(ascii: "\""): inString = true
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    deepest = max(deepest, depth)
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: break
                }
            }
        }
        return deepest
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func describe(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "not JSON" }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            return "\(path(context.codingPath)) has the wrong type"
        case .keyNotFound(let key, let context):
            return "\(path(context.codingPath + [key])) is missing"
        case .dataCorrupted: return "not JSON"
        @unknown default: return "not JSON"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "the message" : keys.map(\.stringValue).joined(separator: ".")
    }
}
