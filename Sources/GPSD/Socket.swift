internal import CLinux
internal import Glibc
internal import Linux

/// A non-blocking TCP connection to gpsd that splits its stream into lines of bounded length.
struct Socket: ~Copyable {
    /// gpsd's messages are shorter than 10,240 bytes.
    static let lineLimit = 16_384
    /// Bytes read per wake-up at most, so that a flood leaves time for everything else.
    private static let readLimit = 65_536

    private let descriptor: FileDescriptor
    private let buffer: UnsafeMutableBufferPointer<CChar>
    private var filled = 0
    /// Discarding an overlong line up to its end.
    private var isSkipping = false
    private(set) var isConnected = false

    var raw: Int32 { descriptor.raw }

    /// - Parameter descriptor: of a connection that is being made; `finishConnecting` completes it.
    init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
        buffer = .allocate(capacity: Self.lineLimit + 1)
    }

    deinit {
        buffer.deallocate()
    }

    /// Call once the descriptor is writable.
    mutating func finishConnecting() throws(SystemError) {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor.raw, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else {
            throw SystemError("getsockopt")
        }
        if code != 0 { throw SystemError("connect", code: code) }
        isConnected = true
    }

    /// Commands are only a few bytes long: if the kernel has no room even for those, the peer is as good as gone.
    func send(_ command: String) throws(SystemError) {
        let bytes = [UInt8](command.utf8)
        let count = Glibc.send(descriptor.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        if count != bytes.count { throw SystemError("send", code: count < 0 ? errno : ENOBUFS) }
    }

    /// Reads what has arrived and parses each complete line.
    ///
    /// - Returns: the number of bytes read.
    /// - Throws: also when gpsd has closed the connection (ECONNRESET).
    mutating func read(
        with parser: inout ReportParser, into reports: inout [Report]
    ) throws(SystemError) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        var total = 0
        while total < Self.readLimit {
            let count = recv(descriptor.raw, base + filled, Self.lineLimit - filled, 0)
            if count == 0 { throw SystemError("read: gpsd closed the connection", code: ECONNRESET) }
            if count < 0 {
                if errno == EAGAIN || errno == EWOULDBLOCK { break }
                if errno == EINTR { continue }
                throw SystemError("read")
            }
            total += count
            splitLines(base, from: filled, count: count, &parser, &reports)
        }
        return total
    }

    private mutating func splitLines(
        _ base: UnsafeMutablePointer<CChar>, from start: Int, count: Int,
        _ parser: inout ReportParser, _ reports: inout [Report]
    ) {
        let end = start + count
        var line = 0
        var search = start
        while search < end, let found = memchr(base + search, 0x0A, end - search) {
            let newline = found.assumingMemoryBound(to: CChar.self) - base
            base[newline > line && base[newline - 1] == 0x0D ? newline - 1 : newline] = 0
            if !isSkipping, base[line] != 0 { reports.append(parser.parse(base + line)) }
            isSkipping = false
            line = newline + 1
            search = line
        }
        filled = end - line
        if filled == Self.lineLimit || isSkipping {
            filled = 0
            isSkipping = true
        } else if line > 0, filled > 0 {
            memmove(base, base + line, filled)
        }
    }
}
