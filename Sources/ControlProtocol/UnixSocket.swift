internal import Glibc

/// A connected Unix stream socket that closes itself. Never raises SIGPIPE.
struct UnixSocket: ~Copyable {
    /// What ended a wait.
    enum Wake { case readable, timedOut, otherHungUp }

    private let descriptor: Int32

    /// Connects, waiting at most `timeoutSeconds` if the server's backlog is full.
    init(path: String, timeoutSeconds: Int) throws(ClientFailure) {
        let address = try Self.address(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system("socket", code: errno) }
        guard Self.connect(descriptor, to: address, timeoutSeconds: timeoutSeconds) else {
            let code = errno
            close(descriptor)
            throw .connecting(to: path, code: code)
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    private static func address(_ path: String) throws(ClientFailure) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path) - 1
        let bytes = Array(path.utf8)
        guard (1...capacity).contains(bytes.count), !bytes.contains(0) else {
            throw .tooLongPath(path, limit: capacity)
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    /// Returns false with errno set on failure.
    private static func connect(_ descriptor: Int32, to address: sockaddr_un, timeoutSeconds: Int) -> Bool {
        // Bounds connect(2) and send(2): a daemon that has stopped must not block its clients.
        var limit = timeval(tv_sec: timeoutSeconds, tv_usec: 0)
        _ = setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        return withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8]) throws(ClientFailure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor, buffer.baseAddress.map { $0 + sent }, buffer.count - sent,
                    Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EPIPE || errno == ECONNRESET {
                throw .closed
            } else if errno != EINTR {
                throw .system("sending to beekond", code: errno)
            }
        }
    }

    /// Waits for data, the timeout, or `other` losing its reader.
    ///
    /// - Parameter milliseconds: nil waits indefinitely.
    func wait(milliseconds: Int32?, other: Int32?) throws(ClientFailure) -> Wake {
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            // POLLERR and POLLHUP are reported even when no events are requested.
            pollfd(fd: other ?? -1, events: 0, revents: 0),
        ]
        let count = poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
        if count < 0 {
            guard errno == EINTR else { throw .system("poll", code: errno) }
            // The caller keeps track of its deadline and polls again.
            return .timedOut
        }
        if polled[1].revents != 0 { return .otherHungUp }
        return count == 0 ? .timedOut : .readable
    }

    /// Receives available bytes; empty at end of stream.
    func receive() throws(ClientFailure) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
            var result = -1
            repeat {
                result = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            } while result < 0 && errno == EINTR
            if result < 0 { failure = errno }
            count = max(result, 0)
        }
        // A daemon that dies with unread bytes resets the connection, which here counts as its end.
        guard failure == 0 || failure == ECONNRESET else {
            throw .system("receiving from beekond", code: failure)
        }
        return bytes
    }
}
