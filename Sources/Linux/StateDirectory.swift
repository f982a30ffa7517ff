internal import CLinux
internal import Glibc

/// A directory that holds small files, each replaced as a whole: after a power cut either the old or the new content is
/// there, never a mixture and never nothing.
///
/// The sequence write to a temporary file, fsync, rename, fsync of the directory is the one that survives a cut at any
/// point; without the first fsync a cut leaves an empty file, without the last one the old file may come back.
public struct StateDirectory: Sendable {
    /// Without a slash at its end.
    public let path: String

    /// Makes the directory (0700) when it is missing.
    ///
    /// - Throws: also when it is writable by its group or by others (EPERM): they could swap the files.
    public init(_ path: String) throws(SystemError) {
        self.path = path
        if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemError("make directory " + path) }
        let directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        var status = stat()
        try retrying("stat " + path) { fstat(directory.raw, &status) }
        guard status.st_mode & 0o022 == 0 else {
            throw SystemError("refusing " + path + ", which others may write to (chmod go-w)", code: EPERM)
        }
    }

    /// The path of a file in it.
    public func file(_ name: String) -> String {
        path + "/" + name
    }

    /// - Returns: nil when there is no such file.
    public func read(_ name: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8]? {
        do {
            return try readFile(file(name), limit: limit, followingLinks: false)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }

    /// Replaces the file durably; when this returns, a power cut cannot undo it.
    public func replace(_ name: String, with bytes: [UInt8]) throws(SystemError) {
        let temporary = file(name + ".tmp")
        let descriptor = try FileDescriptor.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
        try descriptor.writeAll(bytes)
        try retrying("fsync " + temporary) { fsync(descriptor.raw) }
        try retrying("rename " + temporary) { rename(temporary, file(name)) }
        try synchronise()
    }

    /// Renames what has this name, whatever it is, to `NAME.aside-N`, durably.
    ///
    /// - Returns: the new path.
    /// - Throws: also when 99 such names are taken (EEXIST).
    public func putAside(_ name: String) throws(SystemError) -> String {
        for number in 1...99 {
            let target = file("\(name).aside-\(number)")
            var status = stat()
            guard lstat(target, &status) != 0 else { continue }
            do {
                try retrying("rename " + file(name)) { rename(file(name), target) }
            } catch {
                if error.code == ENOENT { return target }
                throw error
            }
            try synchronise()
            return target
        }
        throw SystemError("rename " + file(name), code: EEXIST)
    }

    /// fsync of the directory itself: makes renames, new files and removals durable.
    public func synchronise() throws(SystemError) {
        try Self.synchronise(path)
    }

    /// The same for any directory.
    public static func synchronise(_ path: String) throws(SystemError) {
        let directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        try retrying("fsync " + path) { fsync(directory.raw) }
    }

    /// Takes the lock that keeps a second instance out, for as long as the descriptor lives. A file that is there will
    /// do as it is: a kernel that distrusts a file system mounts it read-only.
    ///
    /// - Throws: EWOULDBLOCK when another process holds it.
    public func lock() throws(SystemError) -> FileDescriptor {
        let descriptor = try openLock()
        try retrying("lock " + file("lock")) { flock(descriptor.raw, LOCK_EX | LOCK_NB) }
        return descriptor
    }

    private func openLock() throws(SystemError) -> FileDescriptor {
        do {
            return try FileDescriptor.open(file("lock"), O_RDWR | O_CREAT | O_NOFOLLOW)
        } catch {
            guard error.code == EROFS else { throw error }
            return try FileDescriptor.open(file("lock"), O_RDONLY | O_NOFOLLOW)
        }
    }
}
