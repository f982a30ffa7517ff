internal import CSystemd
internal import Glibc

/// The journal's native protocol: messages with fields.
package enum Journal {
    /// syslog severities; lower is more severe.
    package enum Priority: Int, Sendable, Comparable {
        case error = 3
        case warning = 4
        case notice = 5
        case info = 6
        case debug = 7

        package static func < (left: Priority, right: Priority) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// Whether standard error is connected to the journal: systemd identifies it in JOURNAL_STREAM by device and
    /// inode.
    package static let isOurs: Bool = {
        guard let stream = getenv("JOURNAL_STREAM") else { return false }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }()

    /// A socket that poll(2) finds writable while the journal has room for an entry; -1 when there is none. The journal's
    /// queue is shared by all services, and `send` waits while it is full.
    package static let queue: Int32 = {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return -1 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: "/run/systemd/journal/socket".utf8)
        }
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if code == 0 { return descriptor }
        _ = close(descriptor)
        return -1
    }()

    /// Sends one entry. Values may contain any bytes, since the protocol transmits their length.
    ///
    /// - Returns: false when the journal did not accept it.
    package static func send(_ message: String, priority: Priority, fields: [(name: String, value: String)])
        -> Bool
    {
        var lines = ["MESSAGE=" + message, "PRIORITY=\(priority.rawValue)", "SYSLOG_IDENTIFIER=beekond"]
        lines += fields.map { $0.name + "=" + $0.value }
        var bytes = lines.map { Array($0.utf8) }
        return withVectors(&bytes, from: 0, []) { vectors in
            sd_journal_sendv(vectors, Int32(vectors.count)) == 0
        }
    }

    /// Keeps all arrays in place while the vectors point to them.
    private static func withVectors(
        _ bytes: inout [[UInt8]], from index: Int, _ vectors: [iovec], _ body: ([iovec]) -> Bool
    ) -> Bool {
        guard index < bytes.count else { return body(vectors) }
        var line = bytes[index]
        return line.withUnsafeMutableBytes { line in
            withVectors(
                &bytes, from: index + 1, vectors + [iovec(iov_base: line.baseAddress, iov_len: line.count)],
                body)
        }
    }
}
