internal import FoundationEssentials
internal import HTTPTypes
internal import NIOCore

/// The few named texts of a small body: a JSON object, or a form.
struct Fields {
    private var values: [String: String] = [:]

    /// Bytes of such a body.
    static let limit = 16 << 10

    init(_ body: ByteBuffer, _ headers: HTTPFields) throws(Problem) {
        let type = headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
        if type == "application/x-www-form-urlencoded" {
            for pair in String(buffer: body).split(separator: "&").prefix(100) {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let name = Self.decoded(parts[0]),
                    let value = Self.decoded(parts.count > 1 ? parts[1] : "")
                else {
                    throw Problem(.badRequest, "The body is no form.")
                }
                values[name] = value
            }
        } else {
            let data = Data(buffer: body)
            guard let read = try? JSONDecoder().decode([String: Text].self, from: data) else {
                throw Problem(.badRequest, "The body is neither a JSON object nor a form.")
            }
            values = read.compactMapValues(\.value)
        }
    }

    subscript(name: String) -> String? { values[name] }

    static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Strings and whole numbers count; other members are not asked for.
    private struct Text: Decodable {
        let value: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            value =
                (try? container.decode(String.self)) ?? (try? container.decode(Int64.self)).map { "\($0)" }
        }
    }
}

extension Data {
    fileprivate init(buffer: ByteBuffer) {
        self = buffer.withUnsafeReadableBytes { Data($0) }
    }
}
