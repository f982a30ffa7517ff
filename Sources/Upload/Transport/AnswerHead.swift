/// What the header lines of an answer say, taken line by line as libcurl hands them over. Pure.
struct AnswerHead {
    /// Bytes of a line that are looked at; the headers that matter are short.
    private static let lineLimit = 256

    /// The value of `Retry-After`, without the blanks around it.
    private(set) var retryAfter: String?
    /// The body is HTML, according to a `Content-Type`: any of them, where there are several.
    private(set) var isHTML = false
    /// The body is compressed without having been asked for, so it cannot be read.
    private(set) var isCoded = false
    /// `Content-Length` is no number, or one beyond 2⁶³ − 1, or two that differ: nobody knows where the answer ends.
    private(set) var hasBadLength = false
    private var length: Int64?
    /// The empty line after the headers has arrived: a server that dies before that has promised nothing.
    private(set) var isComplete = false

    /// - Parameter line: with its line break.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        let line = line.prefix(Self.lineLimit)
        // Each answer begins with its status line, even one that only announces another (100). Trailers arrive here as well.
        if line.starts(with: "HTTP/".utf8) { self = AnswerHead() }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
        if let value = Self.value(of: "retry-after:", line) { retryAfter = value }
        guard !isComplete else { return }
        if let value = Self.value(of: "content-type:", line)?.lowercased() {
            let type = value.prefix { $0 != ";" && $0 != "," && $0 != " " && $0 != "\t" }
            isHTML = isHTML || type == "text/html" || type == "application/xhtml+xml"
        }
        if let value = Self.value(of: "content-length:", line) { readLength(value) }
        if let value = Self.value(of: "content-encoding:", line)?.lowercased() {
            isCoded = isCoded || !(value.isEmpty || value == "identity")
        }
    }

    /// RFC 9110 section 8.6: a list of equal numbers is one number. libcurl takes too large a number for none, and then the
    /// end of the connection for the end of the answer.
    private mutating func readLength(_ value: String) {
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let digits = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let number = Int64(digits), length == nil || length == number
            else { return hasBadLength = true }
            length = number
        }
    }

    private static func value(of name: StaticString, _ line: Slice<UnsafeRawBufferPointer>) -> String? {
        let wanted = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        let start = line.prefix(wanted.count)
        guard start.elementsEqual(wanted, by: { lowercased($0) == $1 }) else { return nil }
        // RFC 9110 section 5.5: spaces and tabs around a value do not belong to it.
        let value = line.dropFirst(wanted.count).drop(while: isBlank)
        return String(decoding: value.reversed().drop(while: isBlank).reversed(), as: UTF8.self)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}
