internal import FoundationEssentials
internal import HTTPTypes
internal import NIOCore

/// The few named values of a small body: a JSON object, or a form.
struct Fields {
    private enum Value {
        case text(String)
        case number(Int64)
        /// Of a type that is not asked for.
        case other
    }

    private var values: [String: Value] = [:]
    /// In a form, all are texts.
    private let isForm: Bool

    /// Bytes of such a body.
    static let limit = 16 << 10

    init(_ body: ByteBuffer, _ headers: HTTPFields) throws(Problem) {
        let type = headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
        isForm = type == "application/x-www-form-urlencoded"
        if isForm {
            for pair in String(buffer: body).split(separator: "&").prefix(100) {
                let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard let name = Self.decoded(parts[0]),
                    let value = Self.decoded(parts.count > 1 ? parts[1] : "")
                else {
                    throw Problem(.badRequest, "The body is no form.")
                }
                values[name] = .text(value)
            }
        } else {
            let data = Data(buffer: body)
            guard let read = try? JSONDecoder().decode([String: Member].self, from: data) else {
                throw Problem(.badRequest, "The body is neither a JSON object nor a form.")
            }
            values = read.mapValues(\.value)
        }
    }

    /// nil when there is no text of that name.
    subscript(name: String) -> String? {
        if case .text(let text)? = values[name] { text } else { nil }
    }

    /// - Returns: nil when there is nothing of that name.
    func number(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        let number: Int64? =
            switch values[name] {
            case nil: nil
            case .number(let number)?: number
            case .text(let text)? where isForm: Int64(text)
            case .text?, .other?: nil
            }
        if number == nil, case nil = values[name] { return nil }
        guard let number, range.contains(number) else {
            throw Problem(
                .badRequest, "\(name) is a number within \(range.lowerBound)…\(range.upperBound).")
        }
        return number
    }

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

    private struct Member: Decodable {
        let value: Value

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                value = .text(text)
            } else if let number = try? container.decode(Int64.self) {
                value = .number(number)
            } else {
                value = .other
            }
        }
    }
}

extension Data {
    fileprivate init(buffer: ByteBuffer) {
        self = buffer.withUnsafeReadableBytes { Data($0) }
    }
}
