/// A value of a small body.
package enum FieldValue: Equatable, Sendable {
    case text(String)
    /// Whole, and within 64 bits.
    case number(Int64)
    /// A list of texts.
    case texts([String])
    /// A value of a type that is not asked for.
    case other
}

/// Reads the small bodies that are a JSON object of a few named values: a login, a claim code, a user. Strictly: a field that is
/// there twice, or half a surrogate pair, is a fault here, and not a guess of a decoder's.
package enum FieldsReader {
    /// Members of the object, those to be ignored among them.
    private static let members = 100
    /// Texts of one list.
    private static let mostTexts = 100
    /// Characters of a field's name that a fault repeats.
    private static let shown = 40

    package static func read(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> [String: FieldValue] {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Fault(reason: "is not UTF-8") }
        var cursor = Cursor(bytes, limits: Limits(depth: 16, members: members))
        var field = ""
        do {
            return try values(&cursor, &field)
        } catch {
            throw Fault(error.kind, pointer: field, reason: error.reason)
        }
    }

    private static func values(
        _ cursor: inout Cursor, _ field: inout String
    ) throws(Cursor.Wrong) -> [String: FieldValue] {
        var values: [String: FieldValue] = [:]
        var count = 0
        cursor.skipSpace()
        guard cursor.next == UInt8(ascii: "{") else { throw Cursor.Wrong(reason: "is no JSON object") }
        while let text = try cursor.name(after: count) {
            count += 1
            let name = text.value
            field = pointer(to: name)
            guard values[name] == nil else { throw Cursor.Wrong(reason: "is there twice") }
            values[name] = try value(&cursor)
            field = ""
        }
        cursor.skipSpace()
        guard cursor.next == nil else {
            throw Cursor.Wrong(reason: "has bytes behind its end, from byte \(cursor.position) on")
        }
        return values
    }

    private static func value(_ cursor: inout Cursor) throws(Cursor.Wrong) -> FieldValue {
        switch cursor.next {
        case UInt8(ascii: "\""): return .text(try cursor.text().value)
        case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")):
            let start = cursor.position
            let number = try cursor.number()
            let digits = String(decoding: cursor.bytes[start..<cursor.position], as: UTF8.self)
            // 142.0 is a whole number, too.
            return (Int64(digits) ?? Int64(exactly: number)).map { .number($0) } ?? .other
        case UInt8(ascii: "["): return try texts(&cursor)
        default:
            try cursor.skip(depth: 1)
            return .other
        }
    }

    /// - Returns: `.other` for a list of anything else, or of too many.
    private static func texts(_ cursor: inout Cursor) throws(Cursor.Wrong) -> FieldValue {
        var texts: [String] = []
        var count = 0
        while try cursor.hasElement(after: count) {
            count += 1
            cursor.skipSpace()
            if count <= mostTexts, cursor.next == UInt8(ascii: "\"") {
                texts.append(try cursor.text().value)
            } else {
                try cursor.skip(depth: 2)
            }
        }
        return texts.count == count ? .texts(texts) : .other
    }

    /// A JSON pointer (RFC 6901).
    private static func pointer(to name: String) -> String {
        var pointer = "/"
        for character in name.prefix(shown) {
            switch character {
            case "~": pointer += "~0"
            case "/": pointer += "~1"
            default: pointer.append(character)
            }
        }
        return pointer
    }
}
