extension TOMLReader {
    mutating func readValue(depth: Int) throws(TOMLProblem) -> TOMLNode.Content {
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
        if let number = Self.number(word) { return .value(number) }
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

    /// A TOML number; nil if it is none, or a whole one beyond 64 bits.
    static func number(_ word: String) -> TOMLValue? {
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where word.hasPrefix(prefix) {
            guard let digits = grouped(word.dropFirst(2), radix: radix) else { return nil }
            return Int(digits, radix: radix).map { .integer($0) }
        }
        let hasSign = word.hasPrefix("-") || word.hasPrefix("+")
        let whole = (hasSign ? word.dropFirst() : word[...]).prefix { $0 != "." && $0 != "e" && $0 != "E" }
        guard let wholeDigits = grouped(whole, radix: 10), whole == "0" || !whole.hasPrefix("0") else {
            return nil
        }
        var rest = word[whole.endIndex...]
        var text = (word.hasPrefix("-") ? "-" : "") + wholeDigits
        if rest.isEmpty { return Int(text).map { .integer($0) } }
        if rest.hasPrefix(".") {
            let fraction = rest.dropFirst().prefix { $0 != "e" && $0 != "E" }
            guard let digits = grouped(fraction, radix: 10) else { return nil }
            text += "." + digits
            rest = rest[fraction.endIndex...]
        }
        if !rest.isEmpty {
            let power = rest.dropFirst()
            let signed = power.hasPrefix("-") || power.hasPrefix("+")
            guard let digits = grouped(signed ? power.dropFirst() : power, radix: 10) else { return nil }
            text += "e" + (power.hasPrefix("-") ? "-" : "") + digits
        }
        return Double(text).map { .number($0) }
    }

    /// The digits without the underscores that may stand singly between them; nil when anything else is there.
    private static func grouped(_ text: Substring, radix: Int) -> String? {
        let groups = text.split(separator: "_", omittingEmptySubsequences: false)
        let areDigits = groups.allSatisfy { group in
            !group.isEmpty && group.utf8.allSatisfy { $0 < 0x80 }
                && group.allSatisfy { ($0.hexDigitValue ?? radix) < radix }
        }
        return areDigits ? groups.joined() : nil
    }
}
