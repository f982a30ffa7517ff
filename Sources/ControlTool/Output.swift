internal import Glibc

/// A file or the standard output, with every error noticed: a full disk must not look like a short history.
///
/// A file comes into being whole or not at all: it is written under another name beside its own, and renamed when
/// everything is on the disk.
public struct Output: ~Copyable {
    /// The reader has gone away; nobody is left to tell.
    public struct ReaderGone: Error {}

    /// The file descriptor, for waiting on its reader.
    public let descriptor: Int32
    private let name: String
    private let owned: Bool
    /// What is written to until it is renamed, and the name that it gets then.
    private var temporary: (path: String, final: String)?
    private var buffer: [UInt8] = []
    /// Written in pieces of this many bytes.
    private static let piece = 64 * 1024

    /// The standard output.
    public init() {
        descriptor = STDOUT_FILENO
        name = "standard output"
        owned = false
        temporary = nil
    }

    /// A file that only its owner may read: positions are personal. What is no regular file, a pipe or a device, is
    /// written to as it is.
    public init(path: String) throws(Failure) {
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists, status.st_mode & S_IFMT != S_IFREG {
            descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
            temporary = nil
        } else {
            // Behind a symbolic link lies the file that is meant.
            let final = exists ? Self.resolved(path) : path
            let folder = final.lastIndex(of: "/").map { String(final[...$0]) } ?? ""
            let made = Unfinished.make(folder + ".beekonctl-XXXXXX")
            descriptor = made.descriptor
            temporary = (made.path, final)
        }
        guard descriptor >= 0 else {
            temporary = nil
            throw Failure(
                "cannot create \(path): \(String(cString: strerror(errno))); give another path",
                exitCode: 73)
        }
        name = path
        owned = true
    }

    deinit {
        if let temporary { Unfinished.remove(temporary.path) }
        if owned { close(descriptor) }
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// What `-o` says: a file, or the standard output when nothing or `-` was given.
    public static func to(_ path: String?) throws(Failure) -> Output {
        guard let path, path != "-" else { return Output() }
        return try Output(path: path)
    }

    /// Adds a line.
    public mutating func line(_ text: String) throws {
        add(text)
        buffer.append(UInt8(ascii: "\n"))
        if buffer.count >= Self.piece { try flush() }
    }

    /// Adds text that ends no line.
    public mutating func add(_ text: String) {
        buffer.append(contentsOf: text.utf8)
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

    /// Flushes, and gives a file its name once all of it is on the disk.
    public consuming func finish() throws {
        try flush()
        guard owned else { return }
        // A disk that is full or failing may say so only when the bytes really go there.
        if fsync(descriptor) != 0, errno != EINVAL, errno != EROFS { throw failure(errno) }
        guard let (path, final) = temporary else { return }
        guard rename(path, final) == 0 else { throw failure(errno) }
        temporary = nil
        Unfinished.end()
    }

    private func failure(_ code: Int32) -> Failure {
        let consequence = temporary == nil ? "what was written is incomplete" : "nothing was changed there"
        return Failure(
            "cannot write to \(name): \(String(cString: strerror(code))); \(consequence)", exitCode: 74)
    }
}

// Written by the only thread, before the handlers are set; they only read it. Global, because a handler captures nothing.
nonisolated(unsafe) private var unfinishedPath: UnsafeMutablePointer<CChar>?

/// The temporary file of the moment, which must not stay behind when a signal ends the tool.
private enum Unfinished {
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// A new file as mkstemp(3) makes it; −1 with errno when it cannot. No signal comes between the file and its name.
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
        if descriptor >= 0 { begin(path) }
        sigprocmask(SIG_SETMASK, &before, nil)
        errno = code
        return (descriptor, path)
    }

    private static func begin(_ name: String) {
        unfinishedPath = strdup(name)
        for number in signals {
            signal(number) { number in
                if let unfinishedPath { unlink(unfinishedPath) }
                _exit(128 + number)
            }
        }
    }

    static func end() {
        for number in signals { signal(number, SIG_DFL) }
    }

    static func remove(_ name: String) {
        end()
        unlink(name)
    }
}
