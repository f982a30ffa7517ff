// What is said of a template that is no JSON.

extension TemplateParser {
    func fault(at offset: Int, _ reason: String, _ advice: String) -> TemplateFault {
        let place = place(of: offset)
        return TemplateFault(line: place.line, column: place.column, reason: reason, advice: advice)
    }

    /// Line and column of an offset, both from 1, the column in Unicode scalars.
    func place(of offset: Int) -> (line: Int, column: Int) {
        let before = bytes.prefix(offset)
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let column = before[lineStart...].count { $0 & 0xC0 != 0x80 }
        return (before.count { $0 == 0x0A } + 1, column + 1)
    }

    /// The character at an offset, for a message.
    func shown(_ offset: Int) -> String {
        guard let scalar = String(decoding: bytes[offset...].prefix(4), as: UTF8.self).unicodeScalars.first
        else {
            return "the end"
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator, .nonspacingMark, .enclosingMark, .spacingMark:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        default: return String(Character(scalar))
        }
    }

    func quoted(_ name: [UInt8]) -> String {
        "\"" + String(String(decoding: name, as: UTF8.self).unicodeScalars.prefix(40).map { Character($0) })
            + "\""
    }

    func follows(_ word: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        return bytes[position...].starts(with: wanted)
    }

    /// No name where one is expected.
    func noName() -> TemplateFault {
        guard let byte = next else {
            return fault(
                at: position, "a name is missing at the end",
                "write it with its value, and close what is open")
        }
        switch byte {
        case UInt8(ascii: "<") where tags != nil && follows("<%"):
            return fault(
                at: position, "a tag cannot be a name: two names could become the same",
                "write a name that is fixed, and the tag as its value")
        case _ where Self.isWord(byte):
            var copy = self
            return fault(at: position, "names stand in quotation marks", "write \"\(copy.takeWord())\"")
        case UInt8(ascii: ","): return fault(at: position, "a comma stands where a name belongs", "remove it")
        default: return strange("a name", "write \"name\": value")
        }
    }

    /// No value where one is expected.
    func noValue() -> TemplateFault {
        switch next {
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            fault(at: position, "a value is missing before \(shown(position))", "write it")
        default: strange("a value", "write a JSON value or a tag")
        }
    }

    /// The fault that neither a comma nor the end follows a value.
    ///
    /// - Parameter closing: what would end the object or array; nil inside a value.
    func noSeparator(closing: UInt8?) -> TemplateFault {
        let joined = "write a comma between them, or both in one string, as in \"1<%= latitude %>\""
        switch next {
        case UInt8(ascii: "<") where tags != nil && follows("<%"):
            return fault(at: position, "a tag stands for a whole value and cannot go on with another", joined)
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            let open = closing == UInt8(ascii: "}") ? "an object" : "an array"
            return fault(
                at: position, "\(shown(position)) cannot end \(open)",
                "close what was opened last with \(closing == UInt8(ascii: "}") ? "}" : "]")")
        case UInt8(ascii: ":"):
            return fault(at: position, "a colon cannot follow a value", "write { before the name, or a comma")
        default:
            switch pieces.last {
            case .tag where text.count == literalEnd:
                return fault(at: position, "a tag stands for a whole value, and more follows it", joined)
            case .tag, .literal, .integer, .time, .escaped, .optional, .extras, .end, nil:
                return strange("a comma", "write one between two values")
            }
        }
    }

    /// A character that has no place here; some are known mistakes.
    func strange(_ wanted: String, _ advice: String) -> TemplateFault {
        let advice =
            switch shown(position) {
            case "'", "“", "”", "„", "‘", "’", "«", "»", "`": "write \" for quotation marks"
            case "/", "#": "remove the comment: JSON has none"
            case "<": "write <%= without spaces between these characters"
            case "U+FEFF", "U+00A0", "U+3000", "U+200B": "remove it: in JSON it is no space"
            default: advice
            }
        return fault(at: position, "\(shown(position)) stands where \(wanted) belongs", advice)
    }
}
