internal import CLinux
internal import Glibc

/// Who is at the other end of a Unix socket, as the kernel knows it: what it was when it connected, beyond forging.
public struct Peer: Equatable, Sendable, CustomStringConvertible {
    /// For the log only: a process id may be given again.
    public let pid: Int32
    /// The user it runs as.
    public let uid: UInt32
    /// The primary group and all others.
    public let groups: [UInt32]

    /// For the log.
    public var description: String { "uid \(uid), pid \(pid)" }

    /// Groups of one peer that are looked at; more count as none.
    private static let groupLimit: Int32 = 1024

    /// Asks the kernel about the other end of a connection.
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

/// The number of a group; nil when there is none of that name.
public func groupID(named name: String) -> UInt32? {
    getgrnam(name)?.pointee.gr_gid
}

/// The user that this process runs as.
public func ownUID() -> UInt32 {
    geteuid()
}

extension FileDescriptor {
    /// The next connection; nil when none waits.
    public func accept() -> FileDescriptor? {
        let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let accepted = clinux_accept(raw, flags)
        return accepted < 0 ? nil : FileDescriptor(owning: accepted)
    }

    /// Sends what the kernel has room for.
    ///
    /// - Returns: how many bytes it took.
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
