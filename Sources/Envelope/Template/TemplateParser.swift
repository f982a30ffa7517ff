/// Reads a template, or plain JSON, strictly as RFC 8259 has it, and copies it without the white space between its tokens.
///
/// Structure is here; strings, tags, other values and lines are in extensions. Recursion is bounded by `Template.depthLimit`.
struct TemplateParser {
    /// A field of the outermost object.
    struct Member: Equatable, Sendable {
        /// UTF-8, without escapes.
        var name: [UInt8]
        /// Name and value as JSON.
        var text: [UInt8]
        /// The value as JSON.
        var value: [UInt8]
    }

    /// What an object is in the whole.
    private enum Role { case outermost, extras, inner }

    let bytes: [UInt8]
    /// nil: plain JSON, in which `<%` is text like any other.
    let tags: Template.Kind?
    let body: TemplateBody
    var position = 0
    /// What has been copied.
    var text: [UInt8] = []
    private(set) var pieces: [Template.Piece] = []
    private(set) var isArray = false
    private(set) var members: [Member] = []
    /// An object `extras` in the outermost one.
    private(set) var room: Template.ExtrasRoom?
    /// Names of a line's tags and fields.
    var keys: Set<[UInt8]> = []
    var tagCount = 0
    /// How much of the copied text is in pieces already.
    private(set) var literalEnd = 0

    /// Bytes. The largest extras there can be, 64 texts of 1024 characters that need escapes, have fewer.
    private static let memberLimit = 524_288

    init(_ bytes: [UInt8], tags: Template.Kind?, body: TemplateBody = .json) {
        self.bytes = bytes
        self.tags = tags
        self.body = body
    }

    /// The fields of an object, in their order.
    ///
    /// - Returns: nil unless the text is one JSON object without repeated names, of no more than `memberLimit` bytes.
    static func members(of object: String) -> [Member]? {
        object.utf8.count <= memberLimit ? members(in: Array(object.utf8)) : nil
    }

    /// The fields of an object that was written by beekond, and so has bounds.
    static func members(in object: [UInt8]) -> [Member]? {
        var parser = TemplateParser(object, tags: nil)
        parser.skipSpace()
        guard parser.next == UInt8(ascii: "{") else { return nil }
        guard (try? parser.object(.outermost, depth: 1)) != nil else { return nil }
        parser.skipSpace()
        return parser.next == nil ? parser.members : nil
    }

    /// Reads all of a template that is JSON.
    mutating func parse() throws(TemplateFault) {
        try begin()
        switch next {
        case UInt8(ascii: "{"): try object(.outermost, depth: 1)
        case UInt8(ascii: "[") where body == .form:
            throw fault(
                at: position, "a form has named fields, so its template is an object",
                "write {\"name\": value}")
        case UInt8(ascii: "["):
            isArray = true
            try array(isOutermost: true, depth: 1)
        default: throw strange("{ or [", "a template is an object or an array")
        }
        try end("remove what follows, or a bracket too many")
    }

    /// Up to the first character, which there is.
    mutating func begin() throws(TemplateFault) {
        guard bytes.count <= Template.sizeLimit else {
            throw fault(
                at: Template.sizeLimit, "the template has more than \(Template.sizeLimit) bytes", "shorten it"
            )
        }
        skipSpace()
        guard next != nil else {
            throw fault(at: 0, "the template is empty", "leave the setting out to use the default record")
        }
    }

    /// Reads to the end, where nothing but space may follow.
    mutating func end(_ advice: String) throws(TemplateFault) {
        flush()
        skipSpace()
        guard next == nil else { throw fault(at: position, "the template has ended before this", advice) }
    }

    // MARK: Structure

    private mutating func object(_ role: Role, depth: Int) throws(TemplateFault) {
        let opening = position
        try checkDepth(depth)
        take()
        var names: Set<[UInt8]> = []
        skipSpace()
        if next != UInt8(ascii: "}") {
            repeat {
                skipSpace()
                let (nameStart, start, first) = (position, text.count, pieces.count)
                let name = try self.name()
                guard names.insert(name).inserted else {
                    throw fault(
                        at: nameStart, "the name \(quoted(name)) stands twice in this object",
                        "leave one of them out")
                }
                try colon()
                let holdsExtras = role == .outermost && tags != nil && name == Array("extras".utf8)
                let valueStart = text.count
                let sole = try value(depth: depth, isExtras: holdsExtras)
                if let sole, isLeftOut(sole) { wrap(sole, from: start, since: first) }
                if role == .outermost {
                    members.append(
                        Member(name: name, text: Array(text[start...]), value: Array(text[valueStart...])))
                }
            } while try separator(closing: UInt8(ascii: "}"), opening)
        } else if role == .outermost, tags != nil {
            throw fault(at: opening, "the template is an empty object", "write what is to be sent")
        }
        if role == .extras {
            room = Template.ExtrasRoom(names: names, isNested: true)
            mark(.extras)
        } else if role == .outermost, tags != nil {
            mark(.end)
            if room == nil { mark(.extras) }
        }
        take()
    }

    private mutating func array(isOutermost: Bool, depth: Int) throws(TemplateFault) {
        let opening = position
        try checkDepth(depth)
        take()
        skipSpace()
        if next != UInt8(ascii: "]") {
            repeat {
                try value(depth: depth, isExtras: false)
            } while try separator(closing: UInt8(ascii: "]"), opening)
        } else if isOutermost {
            throw fault(at: opening, "the template is an empty array", "write what is to be sent")
        }
        if isOutermost { mark(.extras) }
        take()
    }

    private func checkDepth(_ depth: Int) throws(TemplateFault) {
        guard depth <= Template.depthLimit else {
            throw fault(
                at: position, "objects and arrays stand in more than \(Template.depthLimit) levels",
                "make it flatter")
        }
    }

    /// A value inside an object or an array.
    ///
    /// - Parameter isExtras: it is the field `extras` of the outermost object.
    /// - Returns: the tag, if it is nothing but one.
    @discardableResult
    private mutating func value(depth: Int, isExtras: Bool) throws(TemplateFault) -> TemplateTag? {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard body == .json else {
                throw fault(
                    at: position, "a form has no objects or arrays in it",
                    "write their members beside the others"
                )
            }
            guard next == UInt8(ascii: "{") else {
                try array(isOutermost: false, depth: depth + 1)
                return nil
            }
            try object(isExtras ? .extras : .inner, depth: depth + 1)
        case UInt8(ascii: "\""):
            let before = tagCount
            let plain = try string(isName: false)
            if plain.isEmpty, tagCount == before + 1, case .tag(let tag)? = pieces.last { return tag }
        case UInt8(ascii: "<") where tags != nil && follows("<%"): return try wholeValueTag()
        default: try scalar()
        }
        return nil
    }

    /// What has nothing but this tag is left out when that is unknown.
    private func isLeftOut(_ tag: TemplateTag) -> Bool {
        body == .json ? tag.isLeftOutOfJSON : tag.canBeUnknown(in: tags ?? .location)
    }

    private mutating func colon() throws(TemplateFault) {
        skipSpace()
        guard next == UInt8(ascii: ":") else {
            throw fault(
                at: position, "after a name, a colon and a value must follow", "write \"name\": value")
        }
        take()
    }

    /// What stands after a value: a comma, and then another value must follow; or the end.
    private mutating func separator(closing: UInt8, _ opening: Int) throws(TemplateFault) -> Bool {
        skipSpace()
        switch next {
        case closing: return false
        case UInt8(ascii: ","):
            let comma = position
            take()
            skipSpace()
            guard next != closing else {
                throw fault(at: comma, "a comma stands before the end", "remove it")
            }
            return true
        case nil:
            let place = place(of: opening)
            throw fault(
                at: position,
                "the \(shown(opening)) of line \(place.line), column \(place.column) is not closed",
                "write \(Character(Unicode.Scalar(closing))) where it ends")
        default: throw noSeparator(closing: closing)
        }
    }

    // MARK: Copying

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    /// Copies one byte.
    mutating func take() {
        text.append(bytes[position])
        position += 1
    }

    /// What was copied from `start` on, with the pieces since number `first`, is left out when the tag is unknown.
    mutating func wrap(_ tag: TemplateTag, from start: Int, since first: Int) {
        flush()
        guard pieces.indices.contains(first), case .literal(let range) = pieces[first] else { return }
        let own = [.literal(start..<range.upperBound)] + pieces[(first + 1)...]
        pieces.removeSubrange(first...)
        if range.lowerBound < start { pieces.append(.literal(range.lowerBound..<start)) }
        pieces += [.optional(tag, count: own.count)] + own
    }

    /// What was copied since the last piece becomes one.
    mutating func flush() {
        if literalEnd < text.count { pieces.append(.literal(literalEnd..<text.count)) }
        literalEnd = text.count
    }

    mutating func mark(_ piece: Template.Piece) {
        flush()
        pieces.append(piece)
    }
}

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
