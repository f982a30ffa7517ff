/// A JSON value. Numbers stay as they are written: what they mean depends on who asks.
package enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The value at the end of a path of names separated by dots; in an array a name is an index from 0.
    package subscript(path path: String) -> JSON? {
        path.split(separator: ".").reduce(JSON?.some(self)) { value, name in
            switch value {
            case .object(let members): members[String(name)]
            case .array(let elements):
                Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
            case .null, .bool, .number, .string, nil: nil
            }
        }
    }
}

/// Reads JSON (RFC 8259) from a server. Bounded, to 64 KiB and 32 levels unless said otherwise, so that the sender does not
/// control the depth of the recursion.
package struct JSONReader {
    package static let byteLimit = 65_536

    /// How strictly a text is read.
    package struct Limits: Sendable {
        /// Objects and arrays within each other at most, the outermost included.
        package var depth = 32
        /// Bytes at most.
        package var bytes = JSONReader.byteLimit
        /// Two members of an object may have the same name; the last counts.
        package var allowsDuplicates = true
        /// Where repeated names are allowed, none of these members counts.
        package var dropsDuplicates = false

        package init() {}
    }

    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private let limits: Limits
    private var position = 0

    /// - Returns: nil for anything that is not one JSON value in UTF-8, within the limits.
    package static func read(_ bytes: [UInt8], limits: Limits = Limits()) -> JSON? {
        guard bytes.count <= limits.bytes, String(validating: bytes, as: UTF8.self) != nil else { return nil }
        var reader = JSONReader(bytes: bytes, limits: limits)
        // Some servers begin with a byte order mark.
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        guard let value = try? reader.value(depth: 0) else { return nil }
        reader.skipSpace()
        return reader.next == nil ? value : nil
    }

    private init(bytes: [UInt8], limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ word: StaticString) throws(Malformed) {
        let wanted = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        guard bytes[position...].starts(with: wanted) else { throw Malformed() }
        position += wanted.count
    }

    private mutating func value(depth: Int) throws(Malformed) -> JSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func object(depth: Int) throws(Malformed) -> JSON {
        guard depth < limits.depth else { throw Malformed() }
        position += 1
        var members: [String: JSON] = [:]
        var doubled: Set<String> = []
        skipSpace()
        if consume(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try string()
            skipSpace()
            guard consume(UInt8(ascii: ":")) else { throw Malformed() }
            let value = try value(depth: depth + 1)
            if members.updateValue(value, forKey: name) != nil {
                guard limits.allowsDuplicates else { throw Malformed() }
                if limits.dropsDuplicates { doubled.insert(name) }
            }
            skipSpace()
        } while consume(UInt8(ascii: ","))
        guard consume(UInt8(ascii: "}")) else { throw Malformed() }
        for name in doubled { members[name] = nil }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(Malformed) -> JSON {
        guard depth < limits.depth else { throw Malformed() }
        position += 1
        var elements: [JSON] = []
        skipSpace()
        if consume(UInt8(ascii: "]")) { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while consume(UInt8(ascii: ","))
        guard consume(UInt8(ascii: "]")) else { throw Malformed() }
        return .array(elements)
    }

    private mutating func number() throws(Malformed) -> String {
        let start = position
        _ = consume(UInt8(ascii: "-"))
        if !consume(UInt8(ascii: "0")) { try digits() }
        if consume(UInt8(ascii: ".")) { try digits() }
        if consume(UInt8(ascii: "e")) || consume(UInt8(ascii: "E")) {
            _ = consume(UInt8(ascii: "+")) || consume(UInt8(ascii: "-"))
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws(Malformed) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw Malformed() }
    }

    private mutating func string() throws(Malformed) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw Malformed()
            default: text.append(byte)
            }
        }
        throw Malformed()
    }

    private mutating func escape(into text: inout [UInt8]) throws(Malformed) {
        guard let byte = next else { throw Malformed() }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Array(String(Character(try scalar())).utf8))
        default: throw Malformed()
        }
    }

    /// `\uXXXX`, or two of them that make a surrogate pair; half a pair is malformed.
    private mutating func scalar() throws(Malformed) -> Unicode.Scalar {
        let first = try hex()
        guard (0xD800..<0xDC00).contains(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw Malformed() }
            return scalar
        }
        try expect("\\u")
        let second = try hex()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw Malformed() }
        return scalar
    }

    private mutating func hex() throws(Malformed) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw Malformed()
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}
