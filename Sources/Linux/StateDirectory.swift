internal import CLinux
internal import Glibc

/// A directory that holds small files, each replaced as a whole: after a power cut either the old or the new content is
/// there, never a mixture and never nothing.
///
/// The sequence write to a temporary file, fsync, rename, fsync of the directory is the one that survives a cut at any
/// point; without the first fsync a cut leaves an empty file, without the last one the old file may come back.
package struct StateDirectory: Sendable {
    /// Absolute, without symbolic links and without a trailing slash.
    package let path: String
    private let owner: uid_t
    private let group: gid_t

    /// Makes the directory (0700) when it is missing.
    ///
    /// It may be reached through symbolic links, as on systems with a read-only root. They are resolved once, here:
    /// changing a link later does not move anything under a running daemon.
    ///
    /// - Throws: also when it is writable by its group or by others (EPERM): they could swap the files.
    package init(_ path: String) throws(SystemError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw Self.dangling(path) ?? SystemError("make directory " + path)
        }
        guard let resolved = realpath(path, nil) else {
            throw Self.dangling(path) ?? SystemError("open " + path)
        }
        self.path = String(cString: resolved)
        free(resolved)
        let directory = try FileDescriptor.open(self.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        var status = stat()
        try retrying("stat " + self.path) { fstat(directory.raw, &status) }
        guard status.st_mode & 0o022 == 0 else {
            throw SystemError(
                "refusing " + self.path + ", which others may write to (chmod go-w)", code: EPERM)
        }
        owner = status.st_uid
        group = status.st_gid
    }

    /// What to report when the path leads through a link to something missing; nil when it does not. Preserves errno.
    private static func dangling(_ path: String) -> SystemError? {
        let code = errno
        defer { errno = code }
        guard code == ENOENT || code == EEXIST else { return nil }
        var prefix = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            prefix += "/" + part
            var status = stat()
            guard lstat(prefix, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, stat(prefix, &status) != 0
            else { continue }
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink(prefix, &target, target.count - 1)
            let name = String(
                decoding: target.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return SystemError(
                "open \(path): \(prefix) is a link to \(name), which is not there (mount it, or make it)",
                code: ENOENT)
        }
        return nil
    }

    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// - Returns: nil when there is no such file.
    /// - Throws: also when it belongs neither to us, nor to root, nor to the owner of the directory (EINVAL).
    package func read(_ name: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            let bytes = try readFile(file(name), limit: limit, followingLinks: false)
            var status = stat()
            if lstat(file(name), &status) == 0, ![0, owner, geteuid()].contains(status.st_uid) {
                throw SystemError("read \(file(name)), which belongs to user \(status.st_uid)", code: EINVAL)
            }
            return bytes
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }

    /// Replaces the file durably; when this returns, a power cut cannot undo it.
    package func replace(_ name: String, with bytes: [UInt8]) throws(SystemError) {
        let temporary = file(name + ".tmp")
        // First, so that a want of descriptors or memory is found out before anything has changed.
        let directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        let descriptor = try FileDescriptor.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
        // One run as root must not take the files away from the user that the service has.
        if geteuid() == 0 { try retrying("give away " + temporary) { fchown(descriptor.raw, owner, group) } }
        try descriptor.writeAll(bytes)
        try retrying("fsync " + temporary) { fsync(descriptor.raw) }
        try retrying("rename " + temporary) { rename(temporary, file(name)) }
        try retrying("fsync " + path) { fsync(directory.raw) }
    }

    package func names() throws(SystemError) -> [String] {
        guard let stream = opendir(path) else { throw SystemError("read " + path) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Renames what has this name, whatever it is, to `NAME.aside-N`, durably.
    ///
    /// - Returns: the new path.
    /// - Throws: also when 99 such names are taken (EEXIST).
    package func putAside(_ name: String) throws(SystemError) -> String {
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

    /// Removes a file; a missing one is not an error. Durable after the next `synchronise`.
    package func remove(_ name: String) throws(SystemError) {
        do throws(SystemError) {
            try retrying("remove " + file(name)) { unlink(file(name)) }
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    /// fsync of the directory itself: makes renames, new files and removals durable.
    package func synchronise() throws(SystemError) {
        try Self.synchronise(path)
    }

    /// The same for any directory.
    package static func synchronise(_ path: String) throws(SystemError) {
        let directory = try FileDescriptor.open(path, O_RDONLY | O_DIRECTORY)
        try retrying("fsync " + path) { fsync(directory.raw) }
    }

    /// Takes the lock that keeps a second instance out, for as long as the descriptor lives. A file that is there will
    /// do as it is: a kernel that distrusts a file system mounts it read-only.
    ///
    /// - Throws: EWOULDBLOCK when another process holds it.
    package func lock() throws(SystemError) -> FileDescriptor {
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
