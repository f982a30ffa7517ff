internal import Glibc

/// A file or the standard output, with every error noticed: a full disk must not look like a short history.
public struct Output: ~Copyable {
    /// The reader has gone away; nobody is left to tell.
    public struct ReaderGone: Error {}

    /// The file descriptor, for waiting on its reader.
    public let descriptor: Int32
    private let name: String
    private let owned: Bool
    private var buffer: [UInt8] = []
    /// Written in pieces of this many bytes.
    private static let piece = 64 * 1024

    /// The standard output.
    public init() {
        descriptor = STDOUT_FILENO
        name = "standard output"
        owned = false
    }

    /// Creates or empties a file that only its owner may read: positions are personal.
    public init(path: String) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(
                "cannot create \(path): \(String(cString: strerror(errno))); give another with -o",
                exitCode: 73)
        }
        self.descriptor = descriptor
        name = path
        owned = true
    }

    /// What `-o` says: a file, or the standard output when nothing or `-` was given.
    public static func to(_ path: String?) throws(Failure) -> Output {
        guard let path, path != "-" else { return Output() }
        return try Output(path: path)
    }

    /// Adds a line.
    public mutating func line(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.piece { try flush() }
    }

    /// Hands what was added to the kernel.
    public mutating func flush() throws {
        var written = 0
        while written < buffer.count {
            let count = buffer.withUnsafeBytes { bytes in
                write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            }
            if count >= 0 {
                written += count
            } else if errno == EPIPE {
                throw ReaderGone()
            } else if errno != EINTR {
                throw failure(errno)
            }
        }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Flushes and closes; some file systems tell only now that the disk is full.
    public consuming func finish() throws {
        try flush()
        guard owned else { return }
        // A disk that is full or failing may say so only when the bytes really go there.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS { throw failure(errno) }
        guard close(descriptor) == 0 else { throw failure(errno) }
    }

    private func failure(_ code: Int32) -> Failure {
        Failure(
            "cannot write to \(name): \(String(cString: strerror(code))); what was written is incomplete",
            exitCode: 74)
    }
}
