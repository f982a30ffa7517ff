/// Decides from the first bytes of an answer whether it is a page. Pure; the bytes may arrive in any pieces.
///
/// Byte order marks, white space, comments and `<?xml … ?>` are passed over. What follows is a page if it begins with
/// `<!doctype html` or `<html`, or, where the type says HTML, with any `<`. The type alone decides nothing: PHP labels `OK` and
/// JSON `text/html`, too.
struct AnswerBody: Sendable {
    private enum State {
        /// Before the first character that counts.
        case leading
        /// Within `<?xml … ?>`.
        case instruction
        /// Within a comment.
        case comment
        /// What begins with `<` is compared.
        case matching
        case decided
    }

    private enum Encoding {
        case bytes
        case utf16(isBigEndian: Bool)
    }

    /// Bytes that are looked at: as many as are read of an answer.
    private static let limit = Response.bodyLimit
    /// After what is passed over, in upper or lower case; a space stands for any white space.
    private static let pages = ["<!doctype html", "<html"].map { Array($0.utf8) }
    /// How PHP begins an error that it prints into its answer.
    private static let errors = ["<br /> <b>", "<br /><b>"].map { Array($0.utf8) }
    private static let comment = Array("<!--".utf8)
    private static let instruction = Array("<?xml".utf8)
    /// In the place of a number of characters: `--!`.
    private static let exclamation = -1
    private static let candidates = pages + errors + [comment, instruction]
    /// Stands for a character that none of these has.
    private static let other: UInt8 = 0xFF

    private var state = State.leading
    private var encoding = Encoding.bytes
    private var room = Self.limit
    /// Bytes of a byte order mark so far.
    private var mark: [UInt8] = []
    /// The first half of a character in UTF-16.
    private var half: UInt8?
    /// What is compared, in lower case, with one space for each white space. No longer than needed.
    private var start: [UInt8] = []
    /// The latest characters of a comment or an instruction that may belong to its end.
    private var ending = 0

    private var begins: UInt8?
    private var isNamed = false

    /// The body begins as PHP prints an error.
    private(set) var isPHPError = false
    /// The first character of the body is `{`.
    var isObject: Bool { begins == UInt8(ascii: "{") }
    /// Whether what has not been read yet may make it a page.
    var mayBePage: Bool { isNamed || state != .decided }

    /// Whether it is a page, by what has been read. A comment that does not end is one where the type says HTML.
    func isPage(asHTML isHTML: Bool) -> Bool {
        guard isHTML, !isNamed else { return isNamed }
        return switch state {
        case .leading: false
        case .instruction, .comment, .matching: true
        case .decided: begins == UInt8(ascii: "<")
        }
    }

    /// The next bytes. Costs nothing once the matter is decided.
    mutating func append(_ bytes: some Sequence<UInt8>) {
        guard state != .decided else { return }
        for byte in bytes {
            guard room > 0 else { return }
            room -= 1
            append(byte)
            if state == .decided { return }
        }
    }

    private mutating func append(_ byte: UInt8) {
        guard case .utf16(let isBigEndian) = encoding else {
            if state != .leading || !isMark(byte) { read(byte) }
            return
        }
        guard let first = half else { return half = byte }
        half = nil
        let (high, low) = isBigEndian ? (first, byte) : (byte, first)
        if state == .leading, high == 0xFE, low == 0xFF { return }
        read(high == 0 ? low : Self.other)
    }

    /// Takes a byte of a byte order mark. Half of one, with anything but white space behind it, may have been cut off.
    private mutating func isMark(_ byte: UInt8) -> Bool {
        switch (mark, byte) {
        case ([], 0xEF), ([], 0xFE), ([], 0xFF), ([0xEF], 0xBB):
            mark.append(byte)
            return true
        case ([0xEF, 0xBB], 0xBF): break
        case ([0xFE], 0xFF): encoding = .utf16(isBigEndian: true)
        case ([0xFF], 0xFE): encoding = .utf16(isBigEndian: false)
        default:
            if !mark.isEmpty && Self.isSpace(byte) { decide() }
            mark = []
            return state == .decided
        }
        mark = []
        return true
    }

    private static func isSpace(_ character: UInt8) -> Bool {
        character == 0x20 || (0x09...0x0D).contains(character)
    }

    private mutating func read(_ character: UInt8) {
        switch state {
        case .leading:
            guard !Self.isSpace(character) else { return }
            begins = character
            start = []
            state = .matching
            match(character)
        case .matching: match(character)
        case .comment:
            if character == UInt8(ascii: ">"), ending >= 2 || ending == Self.exclamation {
                return state = .leading
            }
            // HTML ends a comment with --!> as well.
            let isMark = character == UInt8(ascii: "!") && ending >= 2
            ending = isMark ? Self.exclamation : character == UInt8(ascii: "-") ? max(ending, 0) + 1 : 0
        case .instruction:
            if character == UInt8(ascii: ">"), ending == 1 { return state = .leading }
            ending = character == UInt8(ascii: "?") ? 1 : 0
        case .decided: break
        }
    }

    private mutating func match(_ character: UInt8) {
        let isSpace = Self.isSpace(character)
        if isSpace && start.last == 0x20 { return }
        let isUpper = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
        start.append(isSpace ? 0x20 : isUpper ? character + 32 : character)
        if start == Self.comment {
            // HTML takes <!--> for a whole comment.
            (state, ending) = (.comment, 2)
        } else if start == Self.instruction {
            (state, ending) = (.instruction, 0)
        } else {
            isNamed = Self.pages.contains(start)
            isPHPError = Self.errors.contains(start)
            if isNamed || isPHPError || !Self.candidates.contains(where: { $0.starts(with: start) }) {
                decide()
            }
        }
    }

    private mutating func decide() {
        state = .decided
        start = []
    }
}
