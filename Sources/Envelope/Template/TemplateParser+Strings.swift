extension TemplateParser {
    /// A name in an object.
    ///
    /// - Returns: it in UTF-8, without escapes.
    mutating func name() throws(TemplateFault) -> [UInt8] {
        guard next == UInt8(ascii: "\"") else { throw noName() }
        return try string(isName: true)
    }

    /// Copies a string with its quotation marks; tags in it become pieces.
    ///
    /// - Returns: its text without escapes, and without what tags stand for.
    @discardableResult mutating func string(isName: Bool) throws(TemplateFault) -> [UInt8] {
        let opening = position
        take()
        var plain: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                take()
                return plain
            case UInt8(ascii: "\\"): try escape(into: &plain)
            case 0..<0x20:
                throw fault(
                    at: position,
                    "a string cannot have \(byte == 0x0A ? "a line break" : "control characters") in it",
                    byte == 0x0A ? "close it before, or write \\n" : "write \(escaped(byte))")
            case UInt8(ascii: "<") where tags != nil && follows("<%"):
                guard !isName else {
                    throw fault(
                        at: position, "a tag cannot stand in a name: two names could become the same",
                        "write a name that is fixed, and the tag as its value")
                }
                try tag()
            case UInt8(ascii: "%") where tags != nil && follows("%>"):
                throw fault(
                    at: position, "%> ends a tag that did not begin",
                    "write <%= before the name, or %\\u003e for the characters themselves")
            default:
                plain.append(byte)
                take()
            }
        }
        throw fault(at: opening, "this string is not closed", "write \" where it ends")
    }

    /// One escape, or the two of a surrogate pair.
    private mutating func escape(into plain: inout [UInt8]) throws(TemplateFault) {
        let start = position
        take()
        guard let byte = next else { return }
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain.append(byte)
        case UInt8(ascii: "b"): plain.append(0x08)
        case UInt8(ascii: "f"): plain.append(0x0C)
        case UInt8(ascii: "n"): plain.append(0x0A)
        case UInt8(ascii: "r"): plain.append(0x0D)
        case UInt8(ascii: "t"): plain.append(0x09)
        case UInt8(ascii: "u"):
            take()
            plain.append(contentsOf: Array(String(Character(try scalar(from: start))).utf8))
            return
        default:
            throw fault(
                at: start, "JSON has no escape \\\(shown(position))",
                "write \\\\ for a backslash; escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four digits"
            )
        }
        take()
    }

    /// What `\u` stands for, its four digits being next.
    private mutating func scalar(from start: Int) throws(TemplateFault) -> Unicode.Scalar {
        let first = try hex(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        let half = "half of a surrogate pair stands alone"
        let advice = "write the character itself, or both halves"
        guard first < 0xDC00, follows("\\u") else { throw fault(at: start, half, advice) }
        let second = position
        take()
        take()
        let low = try hex(from: second)
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (low - 0xDC00))
        else { throw fault(at: start, half, advice) }
        return scalar
    }

    private mutating func hex(from start: Int) throws(TemplateFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault(at: start, "\\u needs four hexadecimal digits", "write them, as in \\u00e9")
            }
            value = value << 4 | UInt32(digit)
            take()
        }
        return value
    }

    private func escaped(_ control: UInt8) -> String {
        switch control {
        case 0x09: "\\t"
        case 0x0D: "\\r"
        default: "\\u00" + (control < 16 ? "0" : "") + String(control, radix: 16)
        }
    }
}
