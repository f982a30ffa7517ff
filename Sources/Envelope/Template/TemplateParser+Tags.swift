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
