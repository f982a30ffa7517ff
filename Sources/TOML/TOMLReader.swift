/// Reads TOML 1.0. Written for configuration files: every value keeps its line, and reading goes on after a
/// mistake wherever the next line can be trusted, so that an operator sees all mistakes at once.
public struct TOMLReader {
    /// Nesting and key depth beyond which a document is refused: recursion must not depend on the file.
    private static let maxDepth = 16
    /// Tables of one name beyond which a document is refused.
    private static let maxTables = 1000
    /// After so many mistakes the rest is not worth reading.
    private static let maxProblems = 20

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var lineStart = 0
    private var problems: [TOMLProblem] = []
    private let root = TOMLTable(.headed, line: 1)
    private var current: TOMLTable

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        current = root
    }

    /// The tree of what could be read, and what could not: at most twenty mistakes. It nests sixteen levels at most.
    public static func read(_ text: String) -> (root: TOMLTable, problems: [TOMLProblem]) {
        var reader = TOMLReader(Array(text.utf8))
        reader.readDocument()
        return (reader.root, reader.problems)
    }

    private mutating func readDocument() {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        while problems.count < Self.maxProblems {
            var startLine: Int?
            do throws(TOMLProblem) {
                try skipBlankLines()
                startLine = line
                guard position < bytes.count else { return }
                if peek == UInt8(ascii: "[") { try readHeader() } else { try readPair(into: current) }
                try expectLineEnd()
            } catch {
                problems.append(error)
                // A mistake inside a text or list over several lines: nobody knows where it was meant to end.
                guard startLine ?? line == line else { return }
                while let byte = peek, byte != UInt8(ascii: "\n") { position += 1 }
            }
        }
    }

    // MARK: Statements

    private mutating func readHeader() throws(TOMLProblem) {
        // Until the header proves right, what follows belongs to no table anybody asked for.
        current = TOMLTable(.headed, line: line)
        let start = mark
        position += 1
        let isList = take("[")
        skipSpaces()
        let path = try readKey()
        guard take("]"), !isList || take("]") else {
            throw problem(
                isList ? "this table name needs “]]” after it" : "this table name needs “]” after it")
        }
        var parent = root
        for name in path.dropLast() {
            parent = try descend(from: parent, name, form: .implied, at: start)
        }
        guard let name = path.last else { return }
        current = try open(name, in: parent, isList: isList, at: start)
    }

    private func open(
        _ name: String, in parent: TOMLTable, isList: Bool, at start: Mark
    ) throws(TOMLProblem) -> TOMLTable {
        let table = TOMLTable(.headed, line: line)
        switch (parent[name]?.content, isList) {
        case (nil, false): parent.set(name, TOMLNode(content: .table(table), line: line))
        case (nil, true): parent.set(name, TOMLNode(content: .tables([table]), line: line))
        case (.tables(let tables), true):
            // Each one is a copy of the list; no setting is a list of tables.
            guard tables.count < Self.maxTables else {
                throw problem("more than \(Self.maxTables) tables of one name", at: start)
            }
            parent.set(name, TOMLNode(content: .tables(tables + [table]), line: line))
        case (.table(let known), false) where known.form == .implied:
            known.form = .headed
            return known
        default:
            let first = parent[name]?.line ?? line
            throw problem(
                "[\(name.printable)] is there already, from line \(first); merge the two", at: start)
        }
        return table
    }

    private func descend(
        from table: TOMLTable, _ name: String, form: TOMLTable.Form, at start: Mark
    ) throws(TOMLProblem) -> TOMLTable {
        switch table[name]?.content {
        case nil:
            let child = TOMLTable(form, line: line)
            table.set(name, TOMLNode(content: .table(child), line: line))
            return child
        case .table(let child) where child.form != .inline && (form == .implied || child.form == .dotted):
            return child
        case .tables(let tables) where form == .implied:
            if let last = tables.last { return last }
        default: break
        }
        let first = table[name]?.line ?? line
        throw problem("\(name.printable) is set already, in line \(first), and cannot be added to", at: start)
    }

    /// Reads `key = value`. A key given twice is noted, and reading goes on behind its value.
    private mutating func readPair(into table: TOMLTable, depth: Int = 0) throws(TOMLProblem) {
        let start = mark
        let path = try readKey()
        guard take("=") else { throw problem("“=” and a value must follow the key") }
        skipSpaces()
        let valueStart = position
        let content = try readValue(depth: depth)
        do throws(TOMLProblem) {
            var parent = table
            for name in path.dropLast() { parent = try descend(from: parent, name, form: .dotted, at: start) }
            guard let name = path.last else { return }
            if let first = parent[name]?.line {
                throw problem(
                    "\(name.printable) is set already, in line \(first); remove one of the two", at: start)
            }
            parent.set(name, TOMLNode(content: content, line: start.line, range: valueStart..<position))
        } catch {
            problems.append(error)
        }
    }

    private mutating func readKey() throws(TOMLProblem) -> [String] {
        var path: [String] = []
        repeat {
            skipSpaces()
            path.append(try readName())
            skipSpaces()
            guard path.count <= Self.maxDepth else {
                throw problem("more than \(Self.maxDepth) names in one key")
            }
        } while take(".")
        return path
    }

    private mutating func readName() throws(TOMLProblem) -> String {
        switch peek {
        case UInt8(ascii: "\""): return try readBasicString()
        case UInt8(ascii: "'"): return try readLiteralString()
        default:
            let start = position
            while let byte = peek, Self.isBare(byte) { position += 1 }
            guard position > start else { throw problem("a key was expected here") }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    // MARK: Bytes

    /// The next byte, nil at the end.
    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Steps over `text` if it comes next.
    private mutating func take(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count else { return false }
        let matches = text.withUTF8Buffer { $0.elementsEqual(bytes[position..<position + length]) }
        if matches { position += length }
        return matches
    }

    /// Steps over one line end, `\n` or `\r\n`, and counts it.
    private mutating func takeLineEnd() -> Bool {
        guard take("\n") || take("\r\n") else { return false }
        line += 1
        lineStart = position
        return true
    }

    /// Steps over spaces and tabs.
    private mutating func skipSpaces() {
        while let byte = peek, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
    }

    /// Steps over spaces, comments and line ends.
    private mutating func skipBlankLines() throws(TOMLProblem) {
        repeat {
            skipSpaces()
            try skipComment()
        } while takeLineEnd()
    }

    /// Steps over the rest of a line, in which only a comment may stand.
    private mutating func expectLineEnd() throws(TOMLProblem) {
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
    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 9 || byte == 0x7F }

    /// The next character in words, safe to print.
    private var nextDescribed: String {
        guard let byte = peek else { return "end of the file" }
        if byte == 10 || byte == 13 { return "end of the line" }
        if Self.isControl(byte) { return "control character (code \(byte))" }
        guard byte < 0x80 else { return "character" }
        return "“\(Unicode.Scalar(byte))”"
    }

    /// A place to complain about later, when reading has gone on.
    private struct Mark {
        let position: Int
        let line: Int
        let lineStart: Int
    }

    /// Where the reader stands.
    private var mark: Mark { Mark(position: position, line: line, lineStart: lineStart) }

    /// A problem here, or at `place`. Costs a look at the line: only for what is thrown.
    private func problem(_ message: String, at place: Mark? = nil) -> TOMLProblem {
        let place = place ?? mark
        // Characters, not bytes: what an editor counts.
        let column = bytes[place.lineStart..<place.position].count { $0 & 0xC0 != 0x80 }
        return TOMLProblem(line: place.line, column: column + 1, message: message)
    }

    // MARK: Values

    private mutating func readValue(depth: Int) throws(TOMLProblem) -> TOMLNode.Content {
        guard depth < Self.maxDepth else { throw problem("nested more than \(Self.maxDepth) levels deep") }
        switch peek {
        case UInt8(ascii: "\""):
            let isLong = bytes[position...].starts(with: "\"\"\"".utf8)
            return .value(
                .string(
                    isLong ? try readMultilineString(quote: "\"", isBasic: true) : try readBasicString()))
        case UInt8(ascii: "'"):
            let isLong = bytes[position...].starts(with: "'''".utf8)
            return .value(
                .string(
                    isLong ? try readMultilineString(quote: "'", isBasic: false) : try readLiteralString()))
        case UInt8(ascii: "["): return try readArray(depth: depth)
        case UInt8(ascii: "{"): return try readInlineTable(depth: depth)
        case nil, 10, 13, UInt8(ascii: "#"): throw problem("a value is missing here")
        default: return try readPlainValue()
        }
    }

    private mutating func readArray(depth: Int) throws(TOMLProblem) -> TOMLNode.Content {
        let start = mark
        let neverClosed = "this list is never closed; “]” ends it"
        position += 1
        var nodes: [TOMLNode] = []
        while true {
            try skipBlankLines()
            if take("]") { return .array(nodes) }
            guard position < bytes.count else { throw problem(neverClosed, at: start) }
            let valueLine = line
            nodes.append(TOMLNode(content: try readValue(depth: depth + 1), line: valueLine))
            try skipBlankLines()
            if take(",") { continue }
            guard take("]") else {
                throw position < bytes.count
                    ? problem("“,” or “]” was expected in this list") : problem(neverClosed, at: start)
            }
            return .array(nodes)
        }
    }

    private mutating func readInlineTable(depth: Int) throws(TOMLProblem) -> TOMLNode.Content {
        position += 1
        let table = TOMLTable(.headed, line: line)
        skipSpaces()
        if !take("}") {
            repeat {
                skipSpaces()
                try readPair(into: table, depth: depth + 1)
                skipSpaces()
            } while take(",")
            guard take("}") else { throw problem("“,” or “}” was expected in this table") }
        }
        table.form = .inline
        return .table(table)
    }

    /// Reads what has no quotes or brackets: `true`, numbers, dates.
    private mutating func readPlainValue() throws(TOMLProblem) -> TOMLNode.Content {
        let start = mark
        while let byte = peek, Self.isPlain(byte) { position += 1 }
        let word = String(decoding: bytes[start.position..<position], as: UTF8.self)
        switch word {
        case "true": return .value(.bool(true))
        case "false": return .value(.bool(false))
        case "inf", "+inf": return .value(.number(.infinity))
        case "-inf": return .value(.number(-.infinity))
        case "nan", "+nan", "-nan": return .value(.number(.nan))
        default: break
        }
        if Self.isDate(word) {
            // A date and its time may be separated by one space.
            if take(" ") {
                let time = position
                while let byte = peek, Self.isPlain(byte) { position += 1 }
                if position == time || !Self.isDate(String(decoding: bytes[time..<position], as: UTF8.self)) {
                    position = time - 1
                }
            }
            return .date
        }
        if let number = TOMLValue.read(number: word) { return .value(number) }
        throw problem("this is neither a number nor true or false; texts go in quotes", at: start)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "_"),
            UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// Roughly: no setting is a date, so it only has to be told from a number.
    private static func isDate(_ word: String) -> Bool {
        let start = word.utf8.prefix { (48...57).contains($0) }
        let next = word.utf8.dropFirst(start.count).first
        let isDay = start.count == 4 && next == UInt8(ascii: "-")
        return isDay || start.count == 2 && next == UInt8(ascii: ":")
    }

    // MARK: Texts

    /// Reads `"…"`, on one line, with escapes.
    private mutating func readBasicString() throws(TOMLProblem) -> String {
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
    private mutating func readLiteralString() throws(TOMLProblem) -> String {
        position += 1
        var text: [UInt8] = []
        while !take("'") { text.append(try readCharacter()) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads `"""…"""` or `'''…'''`; up to two more quotes may stand directly before the closing three.
    private mutating func readMultilineString(
        quote: StaticString, isBasic: Bool
    ) throws(TOMLProblem) -> String {
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
