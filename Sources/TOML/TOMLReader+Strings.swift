extension TOMLReader {
    /// Reads `"…"`, on one line, with escapes.
    mutating func readBasicString() throws(TOMLProblem) -> String {
        position += 1
        var text: [UInt8] = []
        while !take("\"") {
            if take("\\") {
                try readEscape(into: &text)
            } else {
                text.append(try readCharacter())
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads `'…'`, on one line, as it stands.
    mutating func readLiteralString() throws(TOMLProblem) -> String {
        position += 1
        var text: [UInt8] = []
        while !take("'") { text.append(try readCharacter()) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads `"""…"""` or `'''…'''`; up to two more quotes may stand directly before the closing three.
    mutating func readMultilineString(quote: StaticString, isBasic: Bool) throws(TOMLProblem) -> String {
        let opening = mark
        position += 3
        _ = takeLineEnd()
        var text: [UInt8] = []
        while true {
            guard position < bytes.count else {
                throw problem("this text is never closed; \(quote)\(quote)\(quote) ends it", at: opening)
            }
            let quotes = countQuotes(bytes[position], of: quote)
            if quotes >= 3 {
                guard quotes <= 5 else { throw problem("too many quotes at the end of a text") }
                text += bytes[position..<position + quotes - 3]
                position += quotes
                return String(decoding: text, as: UTF8.self)
            }
            let start = position
            if takeLineEnd() {
                text += bytes[start..<position]
            } else if isBasic, take("\\") {
                if try !skipFoldedLine() { try readEscape(into: &text) }
            } else {
                text.append(try readCharacter())
            }
        }
    }

    private func countQuotes(_ byte: UInt8, of quote: StaticString) -> Int {
        guard byte == quote.withUTF8Buffer({ $0.first }) else { return 0 }
        return bytes[position...].prefix { $0 == byte }.count
    }

    /// A backslash at the end of a line swallows all white space up to the next text.
    private mutating func skipFoldedLine() throws(TOMLProblem) -> Bool {
        let start = position
        skipSpaces()
        guard takeLineEnd() else {
            position = start
            return false
        }
        repeat { skipSpaces() } while takeLineEnd()
        return true
    }

    private mutating func readCharacter() throws(TOMLProblem) -> UInt8 {
        guard let byte = peek, byte != 10, byte != 13 else {
            throw problem("this text is not closed: a quote is missing before the \(nextDescribed)")
        }
        guard !Self.isControl(byte) else { throw problem("unexpected \(nextDescribed) in a text") }
        position += 1
        return byte
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(TOMLProblem) {
        guard let byte = peek else { throw problem("this text is not closed") }
        position += 1
        switch byte {
        case UInt8(ascii: "b"): text.append(8)
        case UInt8(ascii: "t"): text.append(9)
        case UInt8(ascii: "n"): text.append(10)
        case UInt8(ascii: "f"): text.append(12)
        case UInt8(ascii: "r"): text.append(13)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(byte)
        case UInt8(ascii: "u"): text += try readScalar(digits: 4)
        case UInt8(ascii: "U"): text += try readScalar(digits: 8)
        default:
            position -= 1
            throw problem("“\\” must be doubled in a text, or the text put in single quotes")
        }
    }

    private mutating func readScalar(digits: Int) throws(TOMLProblem) -> [UInt8] {
        let hex = bytes[position...].prefix(digits)
        guard hex.count == digits, hex.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let code = UInt32(String(decoding: hex, as: UTF8.self), radix: 16),
            let scalar = Unicode.Scalar(code)
        else { throw problem("\(digits) hexadecimal digits of a character must follow here") }
        position += digits
        return Array(String(scalar).utf8)
    }
}
