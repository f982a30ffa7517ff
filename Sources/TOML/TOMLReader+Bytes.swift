extension TOMLReader {
    /// The next byte, nil at the end.
    var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Steps over `text` if it comes next.
    mutating func take(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count else { return false }
        let matches = text.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + length]) }
        if matches { position += length }
        return matches
    }

    /// Steps over one line end, `\n` or `\r\n`, and counts it.
    mutating func takeLineEnd() -> Bool {
        guard take("\n") || take("\r\n") else { return false }
        line += 1
        lineStart = position
        return true
    }

    /// Steps over spaces and tabs.
    mutating func skipSpaces() {
        while let byte = peek, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
    }

    /// Steps over spaces, comments and line ends.
    mutating func skipBlankLines() throws(TOMLProblem) {
        repeat {
            skipSpaces()
            try skipComment()
        } while takeLineEnd()
    }

    /// Steps over the rest of a line, in which only a comment may stand.
    mutating func expectLineEnd() throws(TOMLProblem) {
        skipSpaces()
        try skipComment()
        guard position == bytes.count || takeLineEnd() else {
            throw problem("unexpected \(nextDescribed); one setting a line, and texts go in quotes")
        }
    }

    private mutating func skipComment() throws(TOMLProblem) {
        guard take("#") else { return }
        while let byte = peek, byte != UInt8(ascii: "\n") {
            if byte == UInt8(ascii: "\r"), bytes[position...].starts(with: [13, 10]) { return }
            guard !Self.isControl(byte) else { throw problem("unexpected \(nextDescribed) in a comment") }
            position += 1
        }
    }

    /// Control characters that may stand nowhere in a document; tab is not among them.
    static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 9 || byte == 0x7F }

    /// The next character in words, safe to print.
    var nextDescribed: String {
        guard let byte = peek else { return "end of the file" }
        if byte == 10 || byte == 13 { return "end of the line" }
        if Self.isControl(byte) { return "control character (code \(byte))" }
        guard byte < 0x80 else { return "character" }
        return "“\(Unicode.Scalar(byte))”"
    }

    /// A place to complain about later, when reading has gone on.
    struct Mark {
        let position: Int
        let line: Int
        let lineStart: Int
    }

    /// Where the reader stands.
    var mark: Mark { Mark(position: position, line: line, lineStart: lineStart) }

    /// A problem here, or at `place`. Costs a look at the line: only for what is thrown.
    func problem(_ message: String, at place: Mark? = nil) -> TOMLProblem {
        let place = place ?? mark
        // Characters, not bytes: what an editor counts.
        let column = bytes[place.lineStart..<place.position].count { $0 & 0xC0 != 0x80 }
        return TOMLProblem(line: place.line, column: column + 1, message: message)
    }
}
