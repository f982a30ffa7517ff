internal import EnvelopeReader
internal import HTTPTypes
internal import NIOCore

/// The few named values of a small body: a JSON object, or a form.
struct Fields {
    private let values: [String: FieldValue]
    /// In a form, all are texts.
    private let isForm: Bool
    /// Names that a form has more than once, as it may; which of their values counts, nobody can say.
    private let repeated: Set<String>

    /// Bytes of such a body.
    static let limit = 16 << 10
    /// Fields of a form, those to be ignored among them.
    private static let most = 100

    init(_ body: ByteBuffer, _ headers: HTTPFields) throws(Problem) {
        let type = headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
        isForm = type == "application/x-www-form-urlencoded"
        do throws(Fault) {
            (values, repeated) = try isForm ? Self.form(body) : (Self.object(body), [])
        } catch {
            throw Problem(error)
        }
    }

    private static func object(_ body: ByteBuffer) throws(Fault) -> [String: FieldValue] {
        try body.withUnsafeReadableBytes { bytes in
            Result { () throws(Fault) in try FieldsReader.read(bytes) }
        }.get()
    }

    private static func form(
        _ body: ByteBuffer
    ) throws(Fault) -> (values: [String: FieldValue], repeated: Set<String>) {
        guard let text = body.withUnsafeReadableBytes({ String(validating: $0, as: UTF8.self) }) else {
            throw Fault(reason: "is not UTF-8")
        }
        var values: [String: FieldValue] = [:]
        var repeated: Set<String> = []
        for pair in text.split(separator: "&") {
            guard values.count < most else {
                throw Fault(.tooLarge, reason: "has more than \(most) fields")
            }
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0]) else {
                throw Fault(reason: "has a field name that a form cannot have")
            }
            let pointer = "/" + name.prefix(40)
            guard let value = decoded(parts.count > 1 ? parts[1] : "") else {
                throw Fault(pointer: pointer, reason: "is not form-encoded")
            }
            if values.updateValue(.text(value), forKey: name) != nil { repeated.insert(name) }
        }
        return (values, repeated)
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    /// - Throws: it is not there, or no text.
    func text(_ name: String) throws(Problem) -> String {
        try refuseRepeated(name)
        switch values[name] {
        case .text(let text)?: return text
        case nil: throw Problem(Fault(pointer: "/" + name, reason: "is missing"))
        case .number?, .texts?, .other?: throw Problem(Fault(pointer: "/" + name, reason: "is no text"))
        }
    }

    /// - Returns: nil when there is nothing of that name.
    func optionalText(_ name: String) throws(Problem) -> String? {
        has(name) ? try text(name) : nil
    }

    /// A list of texts, or the word `all`.
    ///
    /// - Returns: nil for the word.
    func texts(_ name: String, most: Int) throws(Problem) -> [String]? {
        try refuseRepeated(name)
        switch values[name] {
        case .text("all")?: return nil
        case .texts(let texts)? where texts.count <= most: return texts
        default:
            throw Problem(
                Fault(
                    pointer: "/" + name,
                    reason: "is neither \"all\" nor a list of at most \(most) texts"))
        }
    }

    /// - Returns: nil when there is nothing of that name.
    func number(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
        try refuseRepeated(name)
        let number: Int64? =
            switch values[name] {
            case nil: nil
            case .number(let number)?: number
            case .text(let text)? where isForm: Int64(text)
            case .text?, .texts?, .other?: nil
            }
        if number == nil, case nil = values[name] { return nil }
        guard let number, range.contains(number) else {
            throw Problem(
                Fault(
                    pointer: "/" + name,
                    reason: "is not a whole number within \(range.lowerBound)…\(range.upperBound)"))
        }
        return number
    }

    private func refuseRepeated(_ name: String) throws(Problem) {
        if repeated.contains(name) { throw Problem(Fault(pointer: "/" + name, reason: "is there twice")) }
    }

    static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard digits.utf8.count == 2, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }),
                    let value = UInt8(digits, radix: 16)
                else { return nil }
                bytes.append(value)
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
