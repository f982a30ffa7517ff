internal import Glibc

/// A gpsd on a loopback port that says what a test tells it to, byte by byte.
///
/// It needs no thread: the kernel completes connections by itself, and the client under test never blocks.
package final class FakeGPSD {
    /// Where it listens on 127.0.0.1.
    package let port: UInt16
    /// Holds the port also while nobody listens there: Linux lets another socket with SO_REUSEADDR listen.
    private let reservation: Int32
    private var listener: Int32
    private var connection: Int32 = -1
    private var fillers: [Int32] = []

    /// The greeting of gpsd 3.22.
    package static let version =
        #"{"class":"VERSION","release":"3.22","rev":"3.22","proto_major":3,"proto_minor":14}"#

    /// Listens on a free port, or on `port` when an earlier one is to come back.
    ///
    /// - Parameter backlog: how many connections may wait to be taken, besides one.
    package init(port wanted: UInt16 = 0, backlog: Int32 = 8) throws {
        reservation = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var reuse: Int32 = 1
        setsockopt(reservation, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = wanted.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (reservation, listener) = (reservation, listener)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(reservation, $0, size) == 0 && getsockname(reservation, $0, &size) == 0
                    && bind(listener, $0, size) == 0 && listen(listener, backlog) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isListening else { throw SetUpFailed(operation: "listen", code: errno) }
    }

    deinit {
        hangUp()
        stopListening()
        close(reservation)
        for filler in fillers { close(filler) }
    }

    /// Lets so many connections wait that the kernel answers to no further one: whoever connects now hangs. Needs a
    /// backlog of 0.
    package func fillQueue() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        for _ in 0..<4 {
            let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
            let filler = socket(AF_INET, Int32(type), 0)
            fillers.append(filler)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    // It stays in progress, or waits to be taken: either is wanted.
                    _ = connect(filler, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        // From the first that waits on, the queue is full.
        _ = isReadable(listener)
    }

    /// Takes the next connection, waiting for it at most half a minute; an earlier one is closed.
    package func accept() throws {
        hangUp()
        guard isReadable(listener) else { throw SetUpFailed(operation: "accept", code: ETIMEDOUT) }
        connection = Glibc.accept(listener, nil, nil)
        guard connection >= 0 else { throw SetUpFailed(operation: "accept", code: errno) }
        // A program that another test starts would keep it open.
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    }

    /// Whether a connection waits to be taken.
    package var hasCaller: Bool { isReadable(listener, milliseconds: 0) }

    /// Sends lines, each ended by CR LF as gpsd does.
    package func say(_ lines: String...) throws {
        for line in lines { try send(Array(line.utf8) + [0x0D, 0x0A]) }
    }

    /// Sends bytes as they are.
    package func send(_ bytes: [UInt8]) throws {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(
                    connection, $0.baseAddress?.advanced(by: offset), $0.count - offset, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw SetUpFailed(operation: "send", code: errno) }
            offset += count
        }
    }

    /// Sends as much of the bytes as the kernel takes without waiting, and returns how many that were.
    package func sendWhatFits(_ bytes: [UInt8]) -> Int {
        max(0, Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)))
    }

    /// The next line from the client, without its end; nil when none comes within half a minute.
    package func hear() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while isReadable(connection), recv(connection, &byte, 1, 0) == 1 {
            if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
        return nil
    }

    /// Closes the connection.
    package func hangUp() {
        if connection >= 0 { close(connection) }
        connection = -1
    }

    /// Refuses connections from now on.
    package func stopListening() {
        if listener >= 0 { close(listener) }
        listener = -1
    }

    private func isReadable(_ descriptor: Int32, milliseconds: Int32 = 30_000) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, milliseconds) > 0
    }
}
