/// Reads a template, or plain JSON, strictly as RFC 8259 has it, and copies it without the white space between its tokens.
///
/// Structure is here; strings, tags and other values are in extensions. Recursion is bounded by `Template.depthLimit`.
struct TemplateParser {
    /// A field of the outermost object.
    struct Member: Equatable, Sendable {
        /// UTF-8, without escapes.
        var name: [UInt8]
        /// Name and value as JSON.
        var text: [UInt8]
    }

    /// What an object is in the whole.
    private enum Role { case outermost, extras, inner }

    let bytes: [UInt8]
    /// nil: plain JSON, in which `<%` is text like any other.
    let tags: Template.Kind?
    var position = 0
    /// What has been copied.
    var text: [UInt8] = []
    private(set) var pieces: [Template.Piece] = []
    private(set) var isArray = false
    private(set) var members: [Member] = []
    /// An object `extras` in the outermost one.
    private(set) var room: Template.ExtrasRoom?
    var tagCount = 0
    /// Of the copied text, what is in pieces already.
    private(set) var literalEnd = 0

    /// Bytes. The largest extras there can be, 64 texts of 1024 characters that need escapes, have fewer.
    private static let memberLimit = 524_288

    init(_ bytes: [UInt8], tags: Template.Kind?) {
        self.bytes = bytes
        self.tags = tags
    }

    /// The fields of an object, in their order.
    ///
    /// - Returns: nil unless the text is one JSON object without repeated names, of no more than `memberLimit` bytes.
    static func members(of object: String) -> [Member]? {
        guard object.utf8.count <= memberLimit else { return nil }
        var parser = TemplateParser(Array(object.utf8), tags: nil)
        parser.skipSpace()
        guard parser.next == UInt8(ascii: "{") else { return nil }
        guard (try? parser.object(.outermost, depth: 1)) != nil else { return nil }
        parser.skipSpace()
        return parser.next == nil ? parser.members : nil
    }

    /// Reads all of a template.
    mutating func parse() throws(TemplateFault) {
        guard bytes.count <= Template.sizeLimit else {
            throw fault(
                at: Template.sizeLimit, "the template has more than \(Template.sizeLimit) bytes", "shorten it"
            )
        }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try object(.outermost, depth: 1)
        case UInt8(ascii: "["):
            isArray = true
            try array(isOutermost: true, depth: 1)
        case nil:
            throw fault(at: 0, "the template is empty", "leave the setting out to use the default record")
        default: throw strange("{ or [", "a template is an object or an array")
        }
        flush()
        skipSpace()
        guard next == nil else {
            throw fault(
                at: position, "the template has ended before this",
                "remove what follows, or a bracket too many")
        }
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
                let (nameStart, start) = (position, text.count)
                let name = try self.name()
                guard names.insert(name).inserted else {
                    throw fault(
                        at: nameStart, "the name \(quoted(name)) stands twice in this object",
                        "leave one of them out")
                }
                try colon()
                let holdsExtras = role == .outermost && tags != nil && name == Array("extras".utf8)
                try value(depth: depth, isExtras: holdsExtras)
                if role == .outermost { members.append(Member(name: name, text: Array(text[start...]))) }
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
    private mutating func value(depth: Int, isExtras: Bool) throws(TemplateFault) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try object(isExtras ? .extras : .inner, depth: depth + 1)
        case UInt8(ascii: "["): try array(isOutermost: false, depth: depth + 1)
        case UInt8(ascii: "\""): try string(isName: false)
        case UInt8(ascii: "<") where tags != nil && follows("<%"): try wholeValueTag()
        default: try scalar()
        }
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

    /// What was copied since the last piece becomes one.
    private mutating func flush() {
        if literalEnd < text.count { pieces.append(.literal(literalEnd..<text.count)) }
        literalEnd = text.count
    }

    mutating func mark(_ piece: Template.Piece) {
        flush()
        pieces.append(piece)
    }
}
