extension TemplateParser {
    /// A number, `true`, `false` or `null`.
    mutating func scalar() throws(TemplateFault) {
        guard let byte = next else {
            throw fault(at: position, "a value is missing at the end", "write it, and close what is open")
        }
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."):
            try number()
        case _ where Self.isWord(byte): try word()
        default: throw noValue()
        }
    }

    private mutating func word() throws(TemplateFault) {
        let start = position
        let word = takeWord()
        switch word {
        case "true", "false", "null": text.append(contentsOf: bytes[start..<position])
        default:
            let shown = String(word.prefix(40))
            throw fault(at: start, "\(shown) is no JSON value", advice(insteadOf: shown))
        }
    }

    private func advice(insteadOf word: String) -> String {
        switch word.lowercased() {
        case "true", "false", "null": "write \(word.lowercased())"
        case "none", "nil", "undefined", "nan", "inf", "infinity": "write null"
        case let name where TemplateTag(rawValue: name) != nil: "write <%= \(name) %> for the value"
        default: "write \"\(word)\" for a text"
        }
    }

    private mutating func number() throws(TemplateFault) {
        let start = position
        while let byte = next, Self.isWord(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
            position += 1
        }
        let run = bytes[start..<position]
        guard tags == nil || next != UInt8(ascii: "<") else { throw noSeparator(closing: nil) }
        let shown = String(decoding: run.prefix(40), as: UTF8.self)
        guard Self.isNumber(run) else {
            throw fault(at: start, "\(shown) is no JSON number", advice(insteadOf: run, shown))
        }
        // Readers differ in what they make of numbers that no Double can hold.
        guard let value = Double(String(decoding: run, as: UTF8.self)), value.isFinite,
            value != 0 || !Self.hasDigits(run)
        else { throw fault(at: start, "\(shown) is too large or too small a number", "write it as a text") }
        text.append(contentsOf: run)
    }

    private func advice(insteadOf run: ArraySlice<UInt8>, _ shown: String) -> String {
        let repaired =
            switch run.first {
            case UInt8(ascii: "+"): Array(run.dropFirst())
            case UInt8(ascii: "."): [UInt8(ascii: "0")] + run
            case UInt8(ascii: "0"): Array(run.drop { $0 == UInt8(ascii: "0") })
            default: run.last == UInt8(ascii: ".") ? Array(run.dropLast()) : []
            }
        guard Self.isNumber(repaired[...]) else { return "write \"\(shown)\" for a text" }
        return "write \(String(decoding: repaired.prefix(40), as: UTF8.self))"
    }

    /// The grammar of RFC 8259, section 6.
    static func isNumber(_ run: ArraySlice<UInt8>) -> Bool {
        var rest = run
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        func digits() -> Int {
            let count = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole == 1 || whole > 1 && !startsWithZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard digits() > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// Whether any digit but 0 stands before the exponent.
    static func hasDigits(_ number: ArraySlice<UInt8>) -> Bool {
        number.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            .contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }
    }
}

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

extension TemplateParser {
    /// A tag where a value is expected.
    @discardableResult
    mutating func wholeValueTag() throws(TemplateFault) -> TemplateTag {
        let start = position
        let tag = try readTag()
        guard tag.kind != .text else {
            throw fault(
                at: start, "\(tag.rawValue) is a text, so its tag stands inside quotation marks",
                "write \"\(tag.written)\"")
        }
        mark(.tag(tag))
        return tag
    }

    /// A tag inside a string.
    mutating func tag() throws(TemplateFault) {
        mark(.tag(try readTag()))
    }

    /// From `<%=` to `%>`.
    mutating func readTag() throws(TemplateFault) -> TemplateTag {
        let start = position
        guard follows("<%=") else {
            throw fault(
                at: start, "a tag begins with <%=",
                "write <%= and a name"
                    + (body == .text ? "" : ", or \\u003c% in a string for the characters themselves"))
        }
        position += 3
        skipBlanks()
        let name = takeWord()
        skipBlanks()
        guard follows("%>") else { throw unreadable(tagAt: start) }
        position += 2
        guard !name.isEmpty else {
            throw fault(at: start, "this tag has no name", "write one, as in <%= latitude %>")
        }
        tagCount += 1
        guard tagCount <= Template.tagLimit else {
            throw fault(at: start, "there are more than \(Template.tagLimit) tags", "leave some out")
        }
        let record = tags ?? .location
        guard let tag = TemplateTag(rawValue: name) else {
            throw fault(
                at: start, "there is no tag \(name.prefix(40))",
                TemplateTag.advice(insteadOf: name, in: record))
        }
        guard tag.isKnown(in: record) else {
            throw fault(
                at: start, "\(name) is known of geofence events only", "move it to geofence_template")
        }
        return tag
    }

    /// Why no `%>` follows the name.
    private func unreadable(tagAt start: Int) -> TemplateFault {
        var end = position
        while end < bytes.count, bytes[end] != 0x0A, bytes[end] != UInt8(ascii: "<") {
            if bytes[end] == UInt8(ascii: "%"), end + 1 < bytes.count, bytes[end + 1] == UInt8(ascii: ">") {
                return fault(
                    at: start, "a tag holds one name and nothing else", "let the server compute what it needs"
                )
            }
            end += 1
        }
        return fault(at: start, "this tag does not end", "write %> after its name")
    }

    private mutating func skipBlanks() {
        while next == 0x20 || next == 0x09 { position += 1 }
    }

    /// Letters, digits, `_` and `.`; not copied.
    mutating func takeWord() -> String {
        let start = position
        while let byte = next, Self.isWord(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
