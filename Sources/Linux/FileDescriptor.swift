internal import CLinux
internal import Glibc

/// An open file descriptor that closes itself.
package struct FileDescriptor: ~Copyable, Sendable {
    /// Valid for the lifetime of this value.
    package let raw: Int32

    /// Takes ownership of an open descriptor.
    package init(owning raw: Int32) {
        self.raw = raw
    }

    deinit {
        _ = Glibc.close(raw)
    }

    /// Opens a file, close-on-exec.
    package static func open(_ path: String, _ flags: Int32, mode: UInt32 = 0o600) throws(SystemError)
        -> FileDescriptor
    {
        FileDescriptor(owning: try retrying("open " + path) { Glibc.open(path, flags | O_CLOEXEC, mode) })
    }

    /// Reads what is available, at most `limit` bytes. Empty at end of file; nil when a non-blocking descriptor has
    /// no data yet.
    package func read(upTo limit: Int) throws(SystemError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        do {
            let count = try retrying("read") { Glibc.read(raw, &bytes, limit) }
            bytes.removeSubrange(count...)
            return bytes
        } catch {
            if error.code == EAGAIN { return nil }
            throw error
        }
    }

    /// Writes all bytes, blocking if the descriptor does.
    package func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var offset = 0
        while offset < bytes.count {
            offset += try retrying("write") {
                bytes.withUnsafeBytes {
                    Glibc.write(raw, $0.baseAddress?.advanced(by: offset), $0.count - offset)
                }
            }
        }
    }
}

/// Reads an entire regular file of at most `limit` bytes, wherever it is; of the state directory `Files` reads.
///
/// - Throws: EFBIG if the file is larger, EINVAL if it is not a regular file: a device or FIFO could block for ever.
package func readFile(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
    var status = stat()
    try retrying("stat " + path) { fstat(file.raw, &status) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError("read " + path, code: EINVAL) }
    var bytes = [UInt8]()
    while let more = try file.read(upTo: 65_536), !more.isEmpty {
        bytes += more
        if bytes.count > limit { throw SystemError("read " + path, code: EFBIG) }
    }
    return bytes
}
