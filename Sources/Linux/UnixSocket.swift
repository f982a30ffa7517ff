internal import CLinux
internal import Glibc

/// The peer of a Unix socket as recorded by the kernel when it connected; cannot be forged.
package struct Peer: Equatable, Sendable, CustomStringConvertible {
    /// For logging only: process ids are reused.
    package let pid: Int32
    package let uid: UInt32
    /// The primary and all supplementary groups.
    package let groups: [UInt32]

    /// For logging.
    package var description: String { "uid \(uid), pid \(pid)" }

    /// Upper bound on the supplementary groups of a peer; a peer with more is treated as having none.
    private static let groupLimit: Int32 = 1024

    /// Queries the kernel about the peer of a connection.
    package init(of descriptor: borrowing FileDescriptor) throws(SystemError) {
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
package func groupID(named name: String) -> UInt32? {
    getgrnam(name)?.pointee.gr_gid
}

/// Effective user ID of this process.
package func ownUID() -> UInt32 {
    geteuid()
}

extension FileDescriptor {
    /// The next connection; nil when none waits.
    package func accept() -> FileDescriptor? {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let accepted = clinux_accept(raw, flags)
        return accepted < 0 ? nil : FileDescriptor(owning: accepted)
    }

    /// Sends as much as the kernel accepts.
    ///
    /// - Returns: the number of bytes sent.
    package func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
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
