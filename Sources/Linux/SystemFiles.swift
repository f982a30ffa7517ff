internal import CLinux
internal import Glibc

/// The files of the kernel.
package struct SystemFiles: Files {
    package init() {}

    package var vfs: String? { nil }

    package func open(_ path: String, _ opening: FileOpening) throws(SystemError) -> any OpenedFile {
        SystemFile(try FileDescriptor.open(path, Self.flags(opening)), path)
    }

    private static func flags(_ opening: FileOpening) -> Int32 {
        if opening.contains(.directory) { return O_RDONLY | O_DIRECTORY }
        var flags = O_NOFOLLOW | O_NONBLOCK
        if opening.contains(.readWrite) {
            flags |= O_RDWR
        } else if opening.contains(.write) {
            flags |= O_WRONLY
        }
        if opening.contains(.create) { flags |= O_CREAT }
        if opening.contains(.truncate) { flags |= O_TRUNC }
        return flags
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        if lstat(path, &status) == 0 { return FileStatus(status) }
        let error = SystemError("stat " + path)
        guard error.code == ENOENT || error.code == ENOTDIR else { throw error }
        return nil
    }

    package func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    package func names(in directory: String) throws(SystemError) -> [String] {
        guard let stream = opendir(directory) else { throw SystemError("read " + directory) }
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

    package func rename(_ path: String, to target: String) throws(SystemError) {
        try retrying("rename " + path) { Glibc.rename(path, target) }
    }

    package func remove(_ path: String) throws(SystemError) {
        try retrying("remove " + path) { unlink(path) }
    }

    package func makeDirectory(_ path: String) throws(SystemError) -> String {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw Self.dangling(path) ?? SystemError("make directory " + path)
        }
        guard let resolved = realpath(path, nil) else {
            throw Self.dangling(path) ?? SystemError("open " + path)
        }
        defer { free(resolved) }
        return String(cString: resolved)
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

    package func freeSpace(in directory: String) -> Int? {
        var status = statvfs()
        guard statvfs(directory.isEmpty ? "/" : directory, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
    }

    package func time() -> Int64 { Clock.realtimeMilliseconds() / 1000 }
}

/// A file descriptor, as an `OpenedFile`.
private final class SystemFile: OpenedFile {
    private let descriptor: FileDescriptor
    private let path: String

    init(_ descriptor: consuming FileDescriptor, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try retrying("stat " + path) { fstat(descriptor.raw, &status) }
        return FileStatus(status)
    }

    func read(upTo limit: Int) throws(SystemError) -> [UInt8] { try descriptor.read(upTo: limit) ?? [] }

    func read(upTo limit: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = try retrying("read " + path) { pread(descriptor.raw, &bytes, limit, off_t(offset)) }
        bytes.removeSubrange(count...)
        return bytes
    }

    func write(_ bytes: [UInt8]) throws(SystemError) { try descriptor.writeAll(bytes) }

    func allocate(_ size: Int) throws(SystemError) {
        let code = posix_fallocate(descriptor.raw, 0, off_t(size))
        guard code == 0 else { throw SystemError("allocate " + path, code: code) }
    }

    func synchronise() throws(SystemError) { try retrying("fsync " + path) { fsync(descriptor.raw) } }

    func give(to owner: UInt32, _ group: UInt32) throws(SystemError) {
        try retrying("give away " + path) { fchown(descriptor.raw, owner, group) }
    }

    func lock() throws(SystemError) {
        try retrying("lock " + path) { flock(descriptor.raw, LOCK_EX | LOCK_NB) }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            default: .other
            }
        self.init(
            kind: kind, size: Int(status.st_size), owner: status.st_uid, group: status.st_gid,
            isOpenToOthers: status.st_mode & 0o022 != 0)
    }
}
