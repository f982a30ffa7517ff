internal import CLinux
internal import Glibc

/// The place of a control socket, with its lock: as long as this lives, no other daemon listens there.
package struct SocketPlace: ~Copyable {
    let path: String
    /// Everything except bind(2) names the socket relative to this directory, so that it cannot be replaced
    /// meanwhile.
    let folder: FileDescriptor
    let name: String
    let address: sockaddr_un
    /// Two that start at once must not both find a socket that nobody answers on.
    private let lock: FileDescriptor

    /// Takes the lock and changes nothing else. The file `path`.lock is left for the next one.
    ///
    /// - Throws: EADDRINUSE when another process answers there or is about to, EPERM for a directory in which others
    ///   could replace root's socket.
    package init(at path: String) throws(SystemError) {
        let address = try ListeningSocket.address(path)
        let slash = path.lastIndex(of: "/")
        let place = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        let folder = try FileDescriptor.open(place, CLINUX_O_PATH | O_DIRECTORY)
        try ListeningSocket.checkFolder(folder, place, path)
        let lock = try ListeningSocket.lock(folder, name, path)
        _ = try ListeningSocket.hasLeftover(folder, name, path, address)
        self.path = path
        self.folder = folder
        self.name = name
        self.address = address
        self.lock = lock
    }
}

/// A Unix stream socket that listens at a path and knows which file it created there.
///
/// Two daemons may be given the same path. The second one is refused while the first one answers, and on its end
/// removes nothing but its own file.
package struct ListeningSocket: ~Copyable {
    /// The listening socket; non-blocking.
    package let descriptor: FileDescriptor
    private let place: SocketPlace
    private let made: Inode
    /// Why the socket could not be given to its group, whose members cannot connect then; nil when it was.
    package let refusal: SystemError?

    private struct Inode: Equatable {
        let device: dev_t
        let number: ino_t

        init(_ status: stat) {
            device = status.st_dev
            number = status.st_ino
        }
    }

    /// Connections that may wait to be accepted; further ones wait as well, or are asked to. Few, because all of them
    /// are served before the latest one.
    private static let backlog: Int32 = 64

    /// Listens at `path`: see below.
    package init(at path: String, group: UInt32?, afterBind: () -> Void = {}) throws(SystemError) {
        try self.init(in: try SocketPlace(at: path), group: group, afterBind: afterBind)
    }

    /// Listens in that place; only the owner and `group` may open it (0660). A socket that nobody answers on is replaced.
    ///
    /// - Parameter afterBind: for tests, which change the socket before it is checked.
    /// - Throws: EADDRINUSE when another process answers there, ESTALE when the socket has been replaced.
    package init(
        in place: consuming SocketPlace, group: UInt32?, afterBind: () -> Void = {}
    ) throws(SystemError) {
        let path = place.path
        if try Self.hasLeftover(place.folder, place.name, path, place.address) {
            try retrying("remove the socket \(path), which nobody answers on") {
                unlinkat(place.folder.raw, place.name, 0)
            }
        }
        let descriptor = try Self.socket()
        // Created with the right mode, so that nothing need be changed later by a name that may have been replaced; by an
        // umask of this thread alone, since another one may make files meanwhile.
        _ = clinux_own_umask()
        let before = umask(0o117)
        let result = Self.call(bind, descriptor, place.address)
        let failure = errno
        umask(before)
        guard result == 0 else { throw SystemError("bind " + path, code: failure) }
        afterBind()
        let (made, refusal) = try Self.giveAway(place.folder, place.name, path, to: group)
        // Nobody can connect before this.
        try retrying("listen on " + path) { Glibc.listen(descriptor.raw, Self.backlog) }
        self.descriptor = descriptor
        self.place = place
        self.made = made
        self.refusal = refusal
    }

    /// Removes the socket from its directory, unless its name belongs to another one by now.
    package borrowing func remove() {
        var status = stat()
        guard fstatat(place.folder.raw, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0, Inode(status) == made
        else { return }
        _ = unlinkat(place.folder.raw, place.name, 0)
    }

    fileprivate static func address(_ path: String) throws(SystemError) -> sockaddr_un {
        var address = sockaddr_un()
        let bytes = Array(path.utf8)
        let room = MemoryLayout.size(ofValue: address.sun_path)
        guard bytes.count < room, !bytes.isEmpty else {
            throw SystemError("socket path \(path) (at most \(room - 1) bytes)", code: ENAMETOOLONG)
        }
        address.sun_family = UInt16(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    private static func socket() throws(SystemError) -> FileDescriptor {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return FileDescriptor(owning: try retrying("socket") { Glibc.socket(AF_UNIX, type, 0) })
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32,
        _ descriptor: borrowing FileDescriptor, _ address: sockaddr_un
    ) -> Int32 {
        withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                function(descriptor.raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Clients trust the socket of root's daemon: only root may be able to put another one there.
    fileprivate static func checkFolder(
        _ folder: borrowing FileDescriptor, _ place: String, _ path: String
    ) throws(SystemError) {
        guard geteuid() == 0 else { return }
        var status = stat()
        try retrying("stat " + place) { fstat(folder.raw, &status) }
        let isShared = status.st_mode & 0o022 != 0 && status.st_mode & S_ISVTX == 0
        guard status.st_uid == 0, !isShared else {
            throw SystemError(
                "refusing the socket \(path): it would be root's, and others could replace it in \(place) "
                    + "(chown root, chmod go-w, or another --socket)", code: EPERM)
        }
    }

    fileprivate static func lock(
        _ folder: borrowing FileDescriptor, _ name: String, _ path: String
    ) throws(SystemError) -> FileDescriptor {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let lock = FileDescriptor(
            owning: try retrying("open \(path).lock") { openat(folder.raw, name + ".lock", flags, 0o600) })
        do {
            try retrying("lock \(path).lock") { flock(lock.raw, LOCK_EX | LOCK_NB) }
        } catch {
            guard error.code == EWOULDBLOCK else { throw error }
            throw Self.taken(path)
        }
        return lock
    }

    private static func taken(_ path: String) -> SystemError {
        SystemError(
            "another beekond has the socket \(path): stop it, or choose another --socket", code: EADDRINUSE)
    }

    /// Whether a socket is left over from an earlier run.
    ///
    /// - Throws: when it answers, or cannot be asked.
    fileprivate static func hasLeftover(
        _ folder: borrowing FileDescriptor, _ name: String, _ path: String, _ address: sockaddr_un
    ) throws(SystemError) -> Bool {
        var status = stat()
        guard fstatat(folder.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SystemError(
                "\(path) is no socket: remove it, or choose another --socket", code: EEXIST)
        }
        let probe = try socket()
        guard call(connect, probe, address) != 0, errno == ECONNREFUSED || errno == ENOENT else {
            throw taken(path)
        }
        return true
    }

    /// Gives the socket to the group through a descriptor of the file itself: a link or another file put in its place
    /// is refused, and remains unchanged.
    private static func giveAway(
        _ folder: borrowing FileDescriptor, _ name: String, _ path: String, to group: UInt32?
    ) throws(SystemError) -> (Inode, refusal: SystemError?) {
        let file = FileDescriptor(
            owning: try retrying("open " + path) {
                openat(folder.raw, name, CLINUX_O_PATH | O_NOFOLLOW | O_CLOEXEC)
            })
        var status = stat()
        try retrying("stat " + path) { fstat(file.raw, &status) }
        guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid(), status.st_nlink == 1 else {
            throw SystemError("the socket \(path) was replaced just after it was created", code: ESTALE)
        }
        var refusal: SystemError?
        if let group, status.st_gid != group,
            fchownat(file.raw, "", uid_t.max, group, CLINUX_AT_EMPTY_PATH) != 0
        {
            refusal = SystemError("give \(path) to its group", code: errno)
        }
        // Where the directory has default ACLs, they apply instead of the umask.
        if status.st_mode & 0o777 != 0o660 {
            try retrying("chmod " + path) { chmod("/proc/self/fd/\(file.raw)", 0o660) }
        }
        return (Inode(status), refusal)
    }
}
