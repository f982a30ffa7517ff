/// What the header lines of an answer say, taken line by line as libcurl hands them over. Pure.
struct AnswerHead {
    private enum Field: String {
        case retryAfter = "retry-after"
        case contentType = "content-type"
        case contentEncoding = "content-encoding"
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
    }

    /// Bytes of a line that are looked at; the headers that matter are short.
    private static let lineLimit = 256

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
    /// A status line has been read.
    private var hasBegun = false
    /// Of an answer that only announces another (100 to 199).
    private var isInterim = false
    /// Of the latest line; nil: none that counts.
    private var field: Field?
    private var length: Int64?
    /// The empty line after the headers has arrived: a server that dies before that has promised nothing.
    private(set) var isComplete = false

    /// - Parameter line: with its line break.
    /// - Returns: whether it is a status line, with which an answer begins. Any other that looks like one is a header: nothing
    ///   that was read before it is forgotten.
    @discardableResult
    mutating func read(_ line: UnsafeRawBufferPointer) -> Bool {
        let line = line.prefix(Self.lineLimit)
        // Even one that only announces another (100) has one. Trailers arrive here as well.
        if line.starts(with: "HTTP/".utf8), !hasBegun || isComplete && isInterim {
            self = AnswerHead()
            hasBegun = true
            isInterim = line.drop { $0 != 0x20 }.dropFirst().first == UInt8(ascii: "1")
            return true
        }
        readField(line)
        return false
    }

    private mutating func readField(_ line: Slice<UnsafeRawBufferPointer>) {
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
        guard let first = line.first, !Self.isBlank(first) else { return readContinuation(line) }
        let name = line.prefix { $0 != UInt8(ascii: ":") }
        let trimmed = name.reversed().drop(while: Self.isBlank)
        field = Field(rawValue: String(decoding: trimmed.reversed(), as: UTF8.self).lowercased())
        guard let field else { return }
        if isFraming(field), trimmed.count < name.count { hasBadLength = true }
        read(Self.text(line.dropFirst(name.count + 1)), of: field)
    }

    /// The line before this one goes on in it (RFC 9112 section 5.2).
    private mutating func readContinuation(_ line: Slice<UnsafeRawBufferPointer>) {
        guard !isComplete, let field else { return }
        if isFraming(field) { hasBadLength = true }
        read(Self.text(line), of: field)
    }

    private func isFraming(_ field: Field) -> Bool {
        !isComplete && (field == .contentLength || field == .transferEncoding)
    }

    private mutating func read(_ value: String, of field: Field) {
        if field == .retryAfter { retryAfter = value }
        // Trailers say nothing of the body.
        guard !isComplete else { return }
        switch field {
        case .contentType:
            let type = value.lowercased().prefix { $0 != ";" && $0 != "," && $0 != " " && $0 != "\t" }
            isHTML = isHTML || type == "text/html" || type == "application/xhtml+xml"
        case .contentEncoding: isCoded = isCoded || !(value.isEmpty || value.lowercased() == "identity")
        case .contentLength: readLength(value)
        case .transferEncoding, .retryAfter: break
        }
    }

    /// RFC 9110 section 8.6: a list of equal numbers is one number. libcurl takes too large a number for none, and then the
    /// end of the connection for the end of the answer.
    private mutating func readLength(_ value: String) {
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let digits = String(
                part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int64(digits), length == nil || length == number
            else { return hasBadLength = true }
            length = number
        }
    }

    /// RFC 9110 section 5.5: spaces and tabs around a value do not belong to it.
    private static func text(_ value: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: value.drop(while: isBlank).reversed().drop(while: isBlank).reversed(), as: UTF8.self)
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}
