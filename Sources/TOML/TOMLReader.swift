/// Reads TOML 1.0. Written for configuration files: every value keeps its line, and reading goes on after a
/// mistake wherever the next line can be trusted, so that an operator sees all mistakes at once.
public struct TOMLReader {
    /// Nesting and key depth beyond which a document is refused: recursion must not depend on the file.
    static let maxDepth = 16
    /// Tables of one name beyond which a document is refused.
    static let maxTables = 1000
    /// After so many mistakes the rest is not worth reading.
    static let maxProblems = 20

    let bytes: [UInt8]
    var position = 0
    var line = 1
    var lineStart = 0
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
    mutating func readPair(into table: TOMLTable, depth: Int = 0) throws(TOMLProblem) {
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
}
