internal import Glibc
internal import Linux

/// A TCP connection for a short conversation, in which everything has a deadline.
struct TCPConnection: ~Copyable {
    /// What failed, with the system's message.
    enum Failure: Error {
        case name(String), connect(String)
    }

    private let descriptor: FileDescriptor
    private var buffer: [UInt8] = []
    /// Seconds allowed for connecting.
    private static let connectTimeout = 5.0
    /// gpsd's lines are shorter; a peer that sends longer ones is not gpsd.
    private static let lineLimit = 65_536

    /// Resolves the name and connects to the first address that answers.
    init(host: String, port: Int) throws(Failure) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else { throw .name(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var failure = "no address"
        var next = list
        while let address = next?.pointee {
            switch Self.connect(address) {
            case .success(let raw):
                self.init(FileDescriptor(owning: raw))
                return
            case .failure(let error): failure = error.message
            }
            next = address.ai_next
        }
        throw .connect(failure)
    }

    private init(_ descriptor: consuming FileDescriptor) {
        self.descriptor = descriptor
    }

    private struct ConnectFailure: Error { let message: String }

    private static func connect(_ address: addrinfo) -> Result<Int32, ConnectFailure> {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let raw = socket(address.ai_family, Int32(SOCK_STREAM.rawValue) | flags, 0)
        guard raw >= 0 else { return .failure(ConnectFailure(message: message(errno))) }
        var code: Int32 = 0
        if Glibc.connect(raw, address.ai_addr, address.ai_addrlen) != 0 { code = errno }
        if code == EINPROGRESS {
            var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
            if poll(&entry, 1, Int32(connectTimeout * 1000)) > 0 {
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &size)
            } else {
                code = ETIMEDOUT
            }
        }
        guard code == 0 else {
            close(raw)
            return .failure(ConnectFailure(message: message(code)))
        }
        return .success(raw)
    }

    private static func message(_ code: Int32) -> String { String(cString: strerror(code)) }

    /// Sends a few bytes, for which the kernel always has room.
    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The next line without its line end; nil at the deadline, at end of stream, or when the line is too long.
    mutating func line(until deadline: Int64) -> [UInt8]? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                let line = Array(buffer[..<end])
                buffer.removeSubrange(...end)
                return line
            }
            let left = (deadline - Clock.boot()) / 1_000_000
            guard left > 0, buffer.count < Self.lineLimit else { return nil }
            var entry = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(clamping: left)) > 0 else { continue }
            var piece = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor.raw, &piece, piece.count, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { continue }
            guard count > 0 else { return nil }
            buffer.append(contentsOf: piece.prefix(count))
        }
    }
}
