internal import CLinux
internal import Glibc

/// The peer of a Unix socket as recorded by the kernel when it connected; cannot be forged.
public struct Peer: Equatable, Sendable, CustomStringConvertible {
    /// For logging only: process ids are reused.
    public let pid: Int32
    /// User ID of the process.
    public let uid: UInt32
    /// The primary and all supplementary groups.
    public let groups: [UInt32]

    /// For logging.
    public var description: String { "uid \(uid), pid \(pid)" }

    /// Upper bound on the supplementary groups of a peer; a peer with more is treated as having none.
    private static let groupLimit: Int32 = 1024

    /// Queries the kernel about the peer of a connection.
    public init(of descriptor: borrowing FileDescriptor) throws(SystemError) {
        var credentials = clinux_credentials()
        guard clinux_peer_credentials(descriptor.raw, &credentials) == 0 else {
            throw SystemError("SO_PEERCRED")
        }
        var others = [UInt32](repeating: 0, count: Int(Self.groupLimit))
        let count = clinux_peer_groups(descriptor.raw, &others, Self.groupLimit)
        pid = credentials.pid
        uid = credentials.uid
        groups = [credentials.gid] + others.prefix(Int(max(count, 0)))
    }
}

/// ID of a group; nil when there is no group of that name.
public func groupID(named name: String) -> UInt32? {
    getgrnam(name)?.pointee.gr_gid
}

/// Effective user ID of this process.
public func ownUID() -> UInt32 {
    geteuid()
}

extension FileDescriptor {
    /// Connections that wait to be accepted; who comes then waits as well, or is told to. Few, because all of them are
    /// served before the one that has come last.
    private static let backlog: Int32 = 64

    /// Listens on a Unix stream socket at `path`, which only its owner and `group` may open (0660).
    ///
    /// A socket that is left over from an earlier run is replaced. That nobody else listens on it is certain: whoever
    /// does holds the lock of the state directory.
    public static func listen(at path: String, group: UInt32?) throws(SystemError) -> FileDescriptor {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room, !bytes.isEmpty else {
            throw SystemError("socket path \(path) (at most \(room - 1) bytes)", code: ENAMETOOLONG)
        }
        address.sun_family = UInt16(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = FileDescriptor(owning: try retrying("socket") { socket(AF_UNIX, type, 0) })
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK { _ = unlink(path) }
        // Nobody may connect before the rights are set.
        let before = umask(0o177)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor.raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        let failure = errno
        umask(before)
        guard result == 0 else { throw SystemError("bind " + path, code: failure) }
        // Without the right to give it away, the socket stays with our own group.
        if let group { _ = chown(path, uid_t.max, group) }
        guard chmod(path, 0o660) == 0 else { throw SystemError("chmod " + path) }
        try retrying("listen on " + path) { Glibc.listen(descriptor.raw, Self.backlog) }
        return descriptor
    }

    /// The next connection; nil when none waits.
    public func accept() -> FileDescriptor? {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let accepted = clinux_accept(raw, flags)
        return accepted < 0 ? nil : FileDescriptor(owning: accepted)
    }

    /// Sends as much as the kernel accepts.
    ///
    /// - Returns: the number of bytes sent.
    public func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        do {
            return try retrying("send") {
                bytes.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
        } catch {
            if error.code == EAGAIN { return 0 }
            throw error
        }
    }
}

/// Removes a socket that nobody listens on any more; a missing one is as good.
public func unlinkSocket(_ path: String) {
    _ = unlink(path)
}
