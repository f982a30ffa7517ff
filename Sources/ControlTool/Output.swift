internal import Glibc

/// A file or standard output. Every error is noticed: a full disk must not look like a short history.
///
/// Files appear completely or not at all: they are written under a temporary name in the same folder and renamed once
/// everything is on disk.
package struct Output: ~Copyable {
    /// The reader has gone away, so there is nobody to report it to.
    package struct ReaderGone: Error {}

    /// The file descriptor, for polling its reader.
    package let descriptor: Int32
    private let name: String
    private let owned: Bool
    /// The path written to, and the one it is renamed to in the end.
    private var temporary: (path: String, final: String)?
    private var buffer: [UInt8] = []
    /// Bytes after which the buffer is written.
    private static let piece = 64 * 1024

    /// Standard output.
    package init() {
        self.init(STDOUT_FILENO, name: "standard output", owned: false, temporary: nil)
    }

    private init(
        _ descriptor: Int32, name: String, owned: Bool, temporary: (path: String, final: String)?
    ) {
        self.descriptor = descriptor
        self.name = name
        self.owned = owned
        self.temporary = temporary
    }

    /// A file readable only by its owner, since positions are personal data. Anything but a regular file, such as a
    /// pipe or a device, is written to directly.
    ///
    /// - Parameter isPublic: it holds none, and is for everybody to read.
    package init(path: String, isPublic: Bool = false) throws(Failure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        let descriptor: Int32
        var temporary: (path: String, final: String)?
        if exists, status.st_mode & S_IFMT != S_IFREG {
            descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        } else {
            // Follow a symbolic link to the file it refers to.
            let final = exists ? Self.resolved(path) : path
            let folder = final.lastIndex(of: "/").map { String(final[...$0]) } ?? ""
            let made = TemporaryFile.make(folder + ".beekonctl-XXXXXX")
            descriptor = made.descriptor
            if isPublic, descriptor >= 0 { _ = fchmod(descriptor, 0o644) }
            temporary = (made.path, final)
        }
        guard descriptor >= 0 else {
            throw Failure(
                "cannot create \(path): \(String(cString: strerror(errno))); give another path",
                exitCode: 73)
        }
        self.init(descriptor, name: path, owned: true, temporary: temporary)
    }

    deinit {
        if let temporary { TemporaryFile.remove(temporary.path) }
        if owned { close(descriptor) }
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The destination given with `-o`: a file, or standard output for nothing or `-`.
    package static func to(_ path: String?) throws(Failure) -> Output {
        guard let path, path != "-" else { return Output() }
        return try Output(path: path)
    }

    package mutating func line(_ text: String) throws {
        add(text)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.piece { try flush() }
    }

    /// Adds text without ending the line.
    package mutating func add(_ text: String) {
        buffer.append(contentsOf: text.utf8)
    }

    /// Adds bytes that are no text.
    package mutating func add(_ bytes: [UInt8]) {
        buffer += bytes
    }

    package mutating func flush() throws {
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

    /// Flushes, and renames a file once all of it is on disk.
    package consuming func finish() throws {
        try flush()
        guard owned else { return }
        // A full or failing disk may report the error only when the data is actually written.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS { throw failure(errno) }
        guard let (path, final) = temporary else { return }
        guard rename(path, final) == 0 else { throw failure(errno) }
        temporary = nil
        TemporaryFile.unregister()
    }

    private func failure(_ code: Int32) -> Failure {
        let consequence = temporary == nil ? "what was written is incomplete" : "nothing was changed there"
        return Failure(
            "cannot write to \(name): \(String(cString: strerror(code))); \(consequence)", exitCode: 74)
    }
}

// Set by the only thread before the handlers are installed, which only read it. Global, because a signal handler
// cannot capture anything.
nonisolated(unsafe) private var temporaryPath: UnsafeMutablePointer<CChar>?

/// The current temporary file, which must not be left behind when a signal ends the tool.
private enum TemporaryFile {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// Creates a file with mkstemp(3); −1 with errno on failure. Signals are blocked until its path has been
    /// registered.
    static func make(_ template: String) -> (descriptor: Int32, path: String) {
        var held = sigset_t()
        var before = sigset_t()
        sigemptyset(&held)
        for number in signals { sigaddset(&held, number) }
        sigprocmask(SIG_BLOCK, &held, &before)
        var template = Array(template.utf8CString)
        let descriptor = mkstemp(&template)
        let code = errno
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if descriptor >= 0 { register(path) }
        sigprocmask(SIG_SETMASK, &before, nil)
        errno = code
        return (descriptor, path)
    }

    private static func register(_ name: String) {
        temporaryPath = strdup(name)
        for number in signals {
            signal(number) { number in
                if let temporaryPath { unlink(temporaryPath) }
                _exit(128 + number)
            }
        }
    }

    static func unregister() {
        for number in signals { signal(number, SIG_DFL) }
    }

    static func remove(_ name: String) {
        unregister()
        unlink(name)
    }
}
