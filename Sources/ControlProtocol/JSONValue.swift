package import FoundationEssentials

/// Any JSON value; the interface's type `object`.
///
/// A number without a fraction that fits into 64 bits decodes as `integer`, any other as `number`. Hence `.number(2)`
/// comes back from the wire as `.integer(2)`.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int64)
    /// A number with a fraction, or beyond 64 bits. Always finite.
    case number(Double)
    case string(String)
    case array([JSONValue])
    /// An object; the order of its members is not preserved.
    case object([String: JSONValue])

    /// The string; nil for any other value.
    package var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The integer; nil for any other value.
    package var integerValue: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    /// The number, with a fraction or without; nil for any other value.
    package var doubleValue: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number): number
        case .null, .bool, .string, .array, .object: nil
        }
    }

    /// Parses JSON; nil when it is invalid.
    package init?(json bytes: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return nil }
        self = value
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Encodes the value. A number that is not finite is an error, since JSON cannot represent it.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSONEncoder {
    /// The encoder for all messages. With sorted keys, `method` comes first, so that a call can be recognised by its
    /// first bytes, and equal values yield equal bytes.
    package static var wire: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
