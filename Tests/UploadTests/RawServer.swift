import CLinux
import Glibc
import Linux
import Support
import Synchronization

/// A TCP server on loopback that does with each connection, one after the other, what the test says. It knows
/// nothing of HTTP but where a request ends.
final class RawServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let log: Log

    /// What has come, and from how many connections.
    private final class Log: Sendable {
        let requests = Mutex<[[UInt8]]>([])
        let connections = Atomic(0)
        let isAtWork = Atomic(false)
    }

    /// - Parameter serve: what is done with a connection, which is closed when this returns.
    init(_ serve: @escaping @Sendable (Link) -> Void) throws {
        let (listener, port) = try Self.listen()
        let log = Log()
        (self.listener, self.port, self.log) = (listener, port, log)
        try startThread(named: "server") {
            while true {
                // A broker that another test starts must not hold it open.
                let raw = clinux_accept(listener, Int32(SOCK_CLOEXEC.rawValue))
                guard raw >= 0 else { break }
                log.connections.add(1, ordering: .sequentiallyConsistent)
                log.isAtWork.store(true, ordering: .sequentiallyConsistent)
                serve(Link(raw) { request in log.requests.withLock { $0.append(request) } })
                close(raw)
                log.isAtWork.store(false, ordering: .sequentiallyConsistent)
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    var url: String { "http://127.0.0.1:\(port)/up" }

    /// Whole requests, as they came.
    var requests: [String] { log.requests.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }

    var connections: Int { log.connections.load(ordering: .sequentiallyConsistent) }

    /// Waits until no connection is open.
    func isAtRest() -> Bool {
        wait { !log.isAtWork.load(ordering: .sequentiallyConsistent) || pause() }
    }

    /// Waits until this many connections have come.
    func hasSeen(connections count: Int) -> Bool {
        wait { connections >= count || pause() }
    }

    private static func listen() throws -> (listener: Int32, port: UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && Glibc.listen(listener, 8) == 0
                    && getsockname(listener, $0, &size) == 0
            }
        }
        guard isListening else { throw SetUpFailed(operation: "listen", code: errno) }
        return (listener, UInt16(bigEndian: address.sin_port))
    }
}

/// A port of loopback on which nobody listens, and which nobody else is given meanwhile.
final class ClosedPort: Sendable {
    let number: UInt16
    private let reservation: Int32

    init() throws { (reservation, number) = try Broker.reservePort() }

    deinit { close(reservation) }
}

/// The server's end of a connection. Nothing waits for longer than ten seconds.
final class Link: Sendable {
    let raw: Int32
    private let note: @Sendable ([UInt8]) -> Void

    init(_ raw: Int32, note: @escaping @Sendable ([UInt8]) -> Void) {
        (self.raw, self.note) = (raw, note)
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    }

    /// Reads a request with its body, and writes it down; false when the connection ended before.
    @discardableResult
    func request() -> Bool {
        guard var bytes = head() else { return false }
        let length = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
            .first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) }
        guard let length, let body = take(length) else { return false }
        bytes += body
        note(bytes)
        return true
    }

    /// Reads up to and including the empty line, and leaves the body where it is.
    func head() -> [UInt8]? {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = take(1) else { return nil }
            bytes += byte
        }
        return bytes
    }

    /// So many bytes; nil when the connection ended before.
    func take(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var taken = 0
        while taken < count {
            let more = bytes.withUnsafeMutableBytes {
                recv(raw, $0.baseAddress?.advanced(by: taken), count - taken, 0)
            }
            guard more > 0 else { return nil }
            taken += more
        }
        return bytes
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// - Returns: how many bytes went out before the client had enough.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        var sent = 0
        while sent < bytes.count {
            let more = bytes.withUnsafeBytes {
                Glibc.send(raw, $0.baseAddress?.advanced(by: sent), $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard more > 0 else { break }
            sent += more
        }
        return sent
    }

    /// Sends no more, while the client may.
    func finish() {
        shutdown(raw, Int32(SHUT_WR))
    }

    /// Swallows what comes until the client closes.
    func drain() {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while recv(raw, &bytes, bytes.count, 0) > 0 {}
    }

    /// Makes the close that follows an RST.
    func reset() {
        var abrupt = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &abrupt, socklen_t(MemoryLayout<linger>.size))
    }
}

/// Something that has happened, and when.
final class Flag: Sendable {
    private let moment = Mutex<Double?>(nil)

    /// Seconds of the monotonic clock.
    var raisedAt: Double? { moment.withLock { $0 } }

    /// - Returns: whether it was raised before.
    @discardableResult
    func raise() -> Bool {
        moment.withLock { moment in
            defer { moment = moment ?? monotonicSeconds() }
            return moment != nil
        }
    }
}

/// The breath between two looks at a condition; false, for use in one.
func pause() -> Bool {
    poll(nil, 0, 5)
    return false
}
