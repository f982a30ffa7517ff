internal import Glibc
internal import NIOCore

/// A socket on which connections arrive.
struct Listener: Sendable {
    /// What `accept` has to say.
    enum Arrival {
        case connection(Int32)
        /// No connection waits.
        case none
        /// Somebody was gone before it was accepted.
        case gone
        /// There are no descriptors or no memory for another one.
        case shortage
    }

    let socket: Int32
    /// Connections that wait in the kernel, at most.
    let backlog: Int32
    /// Path of a Unix socket.
    private let path: String?

    /// Listens.
    ///
    /// - Parameter backlog: connections that wait in the kernel (and at most net.core.somaxconn).
    /// - Throws: `ListenError`, and what resolving the name of a host throws.
    init(_ address: ServerOptions.Address, backlog: Int32) throws {
        let place: SocketAddress
        switch address {
        case .network(let host, let port):
            place = try SocketAddress.makeAddressResolvingHost(host, port: port)
            path = nil
        case .socket(let name):
            place = try SocketAddress(unixDomainSocketPath: name)
            path = name
            Self.removeSocket(name)
        }
        let socket = Glibc.socket(
            Int32(place.protocol.rawValue),
            Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard socket >= 0 else { throw ListenError(code: errno) }
        self.socket = socket
        self.backlog = backlog
        if path == nil {
            var yes: Int32 = 1
            let size = socklen_t(MemoryLayout.size(ofValue: yes))
            setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, size)
            // Those that are accepted inherit it.
            setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
            // The kernel would hold up to 4 MB for each that takes little.
            var bytes = Self.sendBuffer
            setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, size)
        }
        let isBound = place.withSockAddr { bind(socket, $0, socklen_t($1)) == 0 }
        guard isBound, listen(socket, backlog) == 0 else {
            let error = ListenError(code: errno)
            Glibc.close(socket)
            throw error
        }
    }

    /// Bytes that the kernel holds for a connection; two pieces of an answer.
    private static let sendBuffer: Int32 = 128 << 10

    /// Removes what a server that was killed has left. Whoever has the database open is alone.
    private static func removeSocket(_ path: String) {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { unlink(path) }
    }

    /// The port on which it listens; nil for a Unix socket.
    var port: Int? {
        guard path == nil else { return nil }
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout.size(ofValue: storage))
        let isKnown = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
        }
        // The port stands at the same place of both kinds of address.
        guard isKnown else { return nil }
        return withUnsafeBytes(of: storage) { bytes in Int(bytes[2]) << 8 | Int(bytes[3]) }
    }

    func accept() -> Arrival {
        let socket = Glibc.accept(socket, nil, nil)
        if socket >= 0 {
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            return .connection(socket)
        }
        switch errno {
        case EAGAIN: return .none
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .shortage
        default: return .gone
        }
    }

    func close() {
        Glibc.close(socket)
        if let path { unlink(path) }
    }
}

/// Why the server cannot listen.
package struct ListenError: Error {
    /// A value of `errno`.
    package let code: Int32
}
