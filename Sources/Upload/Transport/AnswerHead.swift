/// What the header lines of an answer say, taken line by line as libcurl hands them over. Pure.
struct AnswerHead {
    private enum Field: String {
        case retryAfter = "retry-after"
        case contentType = "content-type"
        case contentEncoding = "content-encoding"
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
    }

    /// Bytes of a name, and of a value without the blanks around it, that are looked at; the headers that matter are short.
    private static let textLimit = 256

    /// What a media type ends before.
    private static let endsType = [UInt8](";, \t".utf8)

    /// The value of `Retry-After`, without the blanks around it.
    private(set) var retryAfter: String?
    /// The body is HTML, according to a `Content-Type`: any of them, where there are several.
    private(set) var isHTML = false
    /// The body is compressed without having been asked for, so it cannot be read.
    private(set) var isCoded = false
    /// What says where the answer ends cannot be read: `Content-Length` is no number, or one beyond 2⁶³ − 1, or two that differ;
    /// or there is a blank before the colon, or a line that goes on in the next (RFC 9112 sections 5.1 and 5.2), which libcurl
    /// passes over.
    private(set) var hasBadLength = false
    /// A line has a carriage return that does not end it, which some take for the end of a line: whatever stands behind it may
    /// be a header or not (RFC 9112 section 2.2).
    private var hasStrayReturn = false
    /// Code of the status line; nil where what the answer begins with is none, or came before this answer and
    /// was none: libcurl takes `http/1.1 500` and `HTTP/x` for 200.
    private(set) var status: Int?
    /// A line has been read.
    private var hasBegun = false
    /// Field of the latest line; nil: none that counts.
    private var field: Field?
    private var length: Int64?
    /// The empty line after the headers has arrived: a server that dies before that has promised nothing.
    private(set) var isComplete = false

    /// What keeps it from being an answer, in words; nil: nothing that has been read.
    var fault: String? {
        if hasBegun, status == nil { return "the answer's first line is not a status line" }
        if hasStrayReturn { return "a line of the answer's head has a carriage return within it" }
        return hasBadLength ? "the answer's Content-Length is not a length" : nil
    }

    /// The answer only announces another (100 to 199).
    private var isInterim: Bool { status.map { $0 < 200 } ?? false }

    /// - Parameter line: with its line break.
    /// - Returns: whether it is a status line, with which an answer begins. Any other that looks like one is a header: nothing
    ///   that was read before it is forgotten.
    @discardableResult
    mutating func read(_ line: UnsafeRawBufferPointer) -> Bool {
        // Even one that only announces another (100) has one. Trailers arrive here as well.
        if !hasBegun || isComplete && isInterim {
            self = AnswerHead()
            hasBegun = true
            noteReturns(in: line)
            status = Self.status(line)
            if status != nil { return true }
        }
        if !isComplete { noteReturns(in: line) }
        readField(line[...])
        return false
    }

    private mutating func noteReturns(in line: UnsafeRawBufferPointer) {
        let end = line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...]
        hasStrayReturn =
            hasStrayReturn
            || (end.last == UInt8(ascii: "\r") ? end.dropLast() : end).contains(UInt8(ascii: "\r"))
    }

    /// `HTTP/1.1 200`, and whatever behind a space (RFC 9112 section 4).
    private static func status(_ line: UnsafeRawBufferPointer) -> Int? {
        let start = "HTTP/".utf8
        guard line.starts(with: start) else { return nil }
        let version = line.dropFirst(start.count).prefix { isDigit($0) || $0 == UInt8(ascii: ".") }
        let rest = line.dropFirst(start.count + version.count)
        let code = rest.dropFirst().prefix { !isBlank($0) }
        guard !version.isEmpty, rest.first == 0x20, code.count == 3, code.allSatisfy(isDigit) else {
            return nil
        }
        return Int(String(decoding: code, as: UTF8.self))
    }

    private mutating func readField(_ line: Slice<UnsafeRawBufferPointer>) {
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
        guard let first = line.first, !Self.isBlank(first) else { return readContinuation(line) }
        let name = line.prefix(Self.textLimit).prefix { $0 != UInt8(ascii: ":") }
        let trimmed = Self.trimmed(name)
        field = Field(rawValue: Self.text(trimmed).lowercased())
        guard let field else { return }
        if isFraming(field), trimmed.count < name.count { hasBadLength = true }
        read(line.dropFirst(name.count + 1), of: field)
    }

    /// The line before this one goes on in it (RFC 9112 section 5.2).
    private mutating func readContinuation(_ line: Slice<UnsafeRawBufferPointer>) {
        guard !isComplete, let field else { return }
        if isFraming(field) { hasBadLength = true }
        read(line, of: field)
    }

    private func isFraming(_ field: Field) -> Bool {
        !isComplete && (field == .contentLength || field == .transferEncoding)
    }

    /// RFC 9110 section 5.5: spaces and tabs around a value do not belong to it.
    private mutating func read(_ bytes: Slice<UnsafeRawBufferPointer>, of field: Field) {
        let trimmed = Self.trimmed(bytes)
        if isFraming(field), trimmed.count > Self.textLimit { hasBadLength = true }
        let value = Self.text(trimmed.prefix(Self.textLimit))
        if field == .retryAfter { retryAfter = value }
        // Trailers say nothing of the body.
        guard !isComplete else { return }
        switch field {
        case .contentType:
            let type = trimmed.prefix(Self.textLimit).prefix { !Self.endsType.contains($0) }
            let name = Self.text(type).lowercased()
            isHTML = isHTML || name == "text/html" || name == "application/xhtml+xml"
        case .contentEncoding: isCoded = isCoded || !(value.isEmpty || value.lowercased() == "identity")
        case .contentLength: readLength(trimmed.prefix(Self.textLimit))
        case .transferEncoding, .retryAfter: break
        }
    }

    /// RFC 9110 section 8.6: a list of equal numbers is one number. libcurl takes too large a number for none, and then the
    /// end of the connection for the end of the answer.
    private mutating func readLength(_ list: Slice<UnsafeRawBufferPointer>) {
        for part in list.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let digits = Self.trimmed(part)
            guard digits.allSatisfy(Self.isDigit),
                let number = Int64(Self.text(digits)), length == nil || length == number
            else { return hasBadLength = true }
            length = number
        }
    }

    /// Without the blanks around it.
    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let rest = bytes.drop(while: isBlank)
        return rest.lastIndex { !isBlank($0) }.map { rest[...$0] } ?? rest[..<rest.startIndex]
    }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes), as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
