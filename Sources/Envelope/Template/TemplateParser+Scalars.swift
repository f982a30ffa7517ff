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
