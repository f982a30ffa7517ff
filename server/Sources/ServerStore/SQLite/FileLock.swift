internal import Glibc

/// A lock on a file, which no other process gets as long as this value lives.
///
/// Closing any descriptor of a database drops all locks that SQLite holds on it in this process (POSIX): whoever has one of these
/// on a database opens it before SQLite does and closes it afterwards, and nobody else in the process opens the file.
final class FileLock: Sendable {
    private let descriptor: Int32

    /// - Parameters:
    ///   - makes: whether a file that is missing is made.
    ///   - isShared: others may have it, too, as long as none has it alone.
    /// - Throws: `.conflict` when another process has it.
    init(_ path: String, makes: Bool, isShared: Bool = false) throws(StoreError) {
        var tries = 1
        while true {
            let opened = try Self.open(path, makes: makes, isShared: isShared)
            if Self.identity(of: opened) == FileIdentity(path) || tries == Self.mostTries {
                descriptor = opened
                return
            }
            // It was renamed between the two: another one is there now.
            Glibc.close(opened)
            tries += 1
        }
    }

    deinit {
        Glibc.close(descriptor)
    }

    private static let mostTries = 10

    private static func open(
        _ path: String, makes: Bool, isShared: Bool
    ) throws(StoreError) -> Int32 {
        let access = isShared ? O_RDONLY : O_RDWR | O_NOFOLLOW
        let descriptor = Glibc.open(path, access | O_CLOEXEC | (makes ? O_CREAT : 0), 0o600)
        guard descriptor >= 0 else {
            let message =
                errno == ELOOP
                ? "it is a symbolic link: name the file itself, beside which its log is"
                : String(cString: strerror(errno))
            throw StoreError(.failed, operation: "open \(path)", message: message)
        }
        guard flock(descriptor, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let message =
                isHeld ? "another beekon-server has this database open" : String(cString: strerror(errno))
            Glibc.close(descriptor)
            throw StoreError(isHeld ? .conflict : .failed, operation: "lock \(path)", message: message)
        }
        return descriptor
    }

    /// The file behind the lock.
    var identity: FileIdentity? { Self.identity(of: descriptor) }

    private static func identity(of descriptor: Int32) -> FileIdentity? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? FileIdentity(status) : nil
    }
}

/// Which file it is, whatever it is called.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt
    private let inode: UInt

    init(_ status: stat) {
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }

    /// The file that has this name; nil when there is nothing.
    init?(_ path: String) {
        var status = stat()
        // Never by opening it; see FileLock.
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
