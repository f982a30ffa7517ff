/// What the header lines of an answer say, taken line by line as libcurl hands them over. Pure.
struct AnswerHead {
    /// Bytes of a line that are looked at; the headers that matter are short.
    private static let lineLimit = 256
    private static let name = Array("retry-after:".utf8)

    /// The value of `Retry-After`, without the blanks around it.
    private(set) var retryAfter: String?
    /// The empty line after the headers has come: a server that dies before it has promised nothing.
    private(set) var isComplete = false

    /// - Parameter line: with its end.
    mutating func take(_ line: UnsafeRawBufferPointer) {
        let line = line.prefix(Self.lineLimit)
        // Each answer begins with its status line, also one that only announces another (100). Trailers come by here as well.
        if line.starts(with: "HTTP/".utf8) {
            isComplete = false
            retryAfter = nil
        }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { isComplete = true }
        let start = line.prefix(Self.name.count)
        guard start.elementsEqual(Self.name, by: { Self.lowercased($0) == $1 }) else { return }
        // RFC 9110 section 5.5: spaces and tabs around a value do not belong to it.
        let value = line.dropFirst(Self.name.count).drop(while: Self.isBlank)
        retryAfter = String(decoding: value.reversed().drop(while: Self.isBlank).reversed(), as: UTF8.self)
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 32 : byte
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A
    }
}
