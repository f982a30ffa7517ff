/// A place in JSON text (RFC 8259), and what can be read from there. It never passes the end, and never recurses deeper than
/// the limits say. What is wrong is thrown as the end of a sentence; `BatchReader` knows of which field.
struct Cursor {
    /// What is wrong at this place.
    struct Wrong: Error {
        var kind = Fault.Kind.malformed
        let reason: String
    }

    /// A string between its quotation marks, as it stands in the text.
    struct Text {
        let bytes: UnsafeRawBufferPointer
        /// The string has escapes, so its value is another one.
        let isEscaped: Bool
    }

    let bytes: UnsafeRawBufferPointer
    let limits: Limits
    var position = 0

    /// - Parameter bytes: valid UTF-8, which must outlive this value.
    init(_ bytes: UnsafeRawBufferPointer, limits: Limits) {
        self.bytes = bytes
        self.limits = limits
    }

    @inline(__always) var next: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    @inline(__always) mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// Moves past the byte if it is the next one.
    @inline(__always) mutating func consume(_ byte: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(truncatingIfNeeded: byte.value) else {
            return false
        }
        position += 1
        return true
    }

    /// Reads this byte, with space before it.
    @inline(__always) mutating func expect(_ byte: Unicode.Scalar) throws(Wrong) {
        skipSpace()
        guard consume(byte) else { throw unexpected("'\(byte)'") }
    }

    /// The next bytes are this word.
    mutating func consume(word: StaticString) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
        guard rest.count >= word.utf8CodeUnitCount,
            UnsafeRawBufferPointer(rebasing: rest[..<word.utf8CodeUnitCount]) == word
        else { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    func unexpected(_ wanted: String) -> Wrong {
        Wrong(
            reason: position < bytes.count
                ? "has no \(wanted) at byte \(position)" : "ends where \(wanted) was expected")
    }

    /// Moves past `"…"`.
    mutating func text() throws(Wrong) -> Text {
        skipSpace()
        guard consume("\"") else { throw Wrong(reason: "is no string") }
        let start = position
        var isEscaped = false
        // Ids and times, eight bytes at a time.
        while position + 8 <= bytes.count,
            Self.isPlain(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        {
            position += 8
        }
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return Text(
                    bytes: UnsafeRawBufferPointer(rebasing: bytes[start..<position]), isEscaped: isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                position += 1
                try skipEscape()
            case 0..<0x20: throw Wrong(reason: "has a control character in a string, at byte \(position)")
            default: position += 1
            }
        }
        throw Wrong(reason: "ends in the middle of a string")
    }

    /// Whether none of eight bytes is a quotation mark, a backslash or a control character (Anderson, "Bit Twiddling Hacks",
    /// "Determine if a word has a byte less than n").
    @inline(__always) private static func isPlain(_ word: UInt64) -> Bool {
        let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let escapes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        let found =
            (quotes &- ones) & ~quotes | (escapes &- ones) & ~escapes | (word &- ones &* 0x20) & ~word
        return found & tops == 0
    }

    /// Moves past one member's name and its colon, or past the end of the object.
    ///
    /// - Parameter count: members so far.
    mutating func name(after count: Int) throws(Wrong) -> Text? {
        skipSpace()
        if count == 0 {
            try expect("{")
            skipSpace()
            if consume("}") { return nil }
        } else {
            if consume("}") { return nil }
            try expect(",")
        }
        guard count < limits.members else {
            throw Wrong(kind: .tooLarge, reason: "has more than \(limits.members) fields")
        }
        let name = try text()
        try expect(":")
        skipSpace()
        return name
    }

    /// Moves to the next element, or past the end of the array.
    ///
    /// - Parameter count: elements so far.
    mutating func hasElement(after count: Int) throws(Wrong) -> Bool {
        skipSpace()
        if count == 0 {
            guard consume("[") else { throw Wrong(reason: "is no array") }
            skipSpace()
            return !consume("]")
        }
        if consume("]") { return false }
        try expect(",")
        return true
    }

    /// Moves past any value, which must be JSON all the same.
    ///
    /// - Parameter depth: levels around it.
    mutating func skip(depth: Int) throws(Wrong) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"):
            guard depth < limits.depth else { throw tooDeep }
            var count = 0
            while try name(after: count) != nil {
                try skip(depth: depth + 1)
                count += 1
            }
        case UInt8(ascii: "["):
            guard depth < limits.depth else { throw tooDeep }
            var count = 0
            while try hasElement(after: count) {
                try skip(depth: depth + 1)
                count += 1
            }
        case UInt8(ascii: "\""): _ = try text()
        case UInt8(ascii: "t") where consume(word: "true"): return
        case UInt8(ascii: "f") where consume(word: "false"): return
        case UInt8(ascii: "n") where consume(word: "null"): return
        default: _ = try number()
        }
    }

    private var tooDeep: Wrong {
        Wrong(kind: .tooLarge, reason: "has more than \(limits.depth) levels")
    }

    mutating func bool() throws(Wrong) -> Bool {
        if consume(word: "true") { return true }
        if consume(word: "false") { return false }
        throw Wrong(reason: "is neither true nor false")
    }

    /// Moves on by as many bytes, which the caller has looked at.
    mutating func advance(_ count: Int) {
        position = min(position + count, bytes.count)
    }

    private mutating func skipEscape() throws(Wrong) {
        let escape = next
        advance(1)
        switch escape {
        case UInt8(ascii: "u"):
            let unit = try hexUnit()
            switch unit {
            case 0xD800..<0xDC00:
                guard consume("\\"), consume("u"), (0xDC00..<0xE000).contains(try hexUnit()) else {
                    throw halfPair
                }
            case 0xDC00..<0xE000: throw halfPair
            default: return
            }
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        default: throw Wrong(reason: "has an escape that JSON does not have, before byte \(position)")
        }
    }

    private var halfPair: Wrong {
        Wrong(reason: "has half a surrogate pair before byte \(position)")
    }

    private mutating func hexUnit() throws(Wrong) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Cursor.hexDigit(byte) else {
                throw Wrong(reason: "has an escape that JSON does not have, before byte \(position)")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    @inline(__always) static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
        default: nil
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are the same.
    @inline(__always) static func == (left: UnsafeRawBufferPointer, right: StaticString) -> Bool {
        guard left.count == right.utf8CodeUnitCount else { return false }
        for index in 0..<left.count where left[index] != right.utf8Start[index] { return false }
        return true
    }
}
