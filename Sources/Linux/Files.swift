internal import Glibc

/// Where the state directory is: what the store and the small files beside it do with files. One value, handed to all who do,
/// so that all of them see the same disk, a database and its small files included. Paths are absolute, and links are not
/// followed.
package protocol Files: Sendable {
    /// The name of the VFS through which SQLite sees the same files; nil: its default.
    var vfs: String? { get }

    /// Close-on-exec, and without waiting for who is to open the other end of a pipe. A new file is its owner's alone.
    func open(_ path: String, _ opening: FileOpening) throws(SystemError) -> any OpenedFile

    /// What has this name.
    ///
    /// - Returns: nil when there is nothing.
    /// - Throws: when the disk does not say.
    func status(_ path: String) throws(SystemError) -> FileStatus?

    /// Whether it could be opened for writing.
    func isWritable(_ path: String) -> Bool

    /// In ascending order.
    func names(in directory: String) throws(SystemError) -> [String]

    /// What has had the target's name is gone.
    func rename(_ path: String, to target: String) throws(SystemError)

    func remove(_ path: String) throws(SystemError)

    /// Makes it (0700) where it is missing. Here alone links are followed.
    ///
    /// - Returns: its path without links and without a trailing slash.
    func makeDirectory(_ path: String) throws(SystemError) -> String

    /// Bytes that this process may still take there; nil: unknown.
    func freeSpace(in directory: String) -> Int?

    /// The time by which files are named, Unix seconds.
    func time() -> Int64
}

/// How a file is opened; without any: for reading.
package struct FileOpening: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }

    /// For writing, not for reading.
    package static let write = FileOpening(rawValue: 1)
    /// For both.
    package static let readWrite = FileOpening(rawValue: 2)
    /// Makes it where it is missing.
    package static let create = FileOpening(rawValue: 4)
    /// Empties it.
    package static let truncate = FileOpening(rawValue: 8)
    /// The path must be a directory.
    package static let directory = FileOpening(rawValue: 16)
}

/// What there is to know of a file without opening it.
package struct FileStatus: Equatable, Sendable {
    package enum Kind: Sendable { case file, directory, other }

    package let kind: Kind
    /// Bytes.
    package let size: Int
    package let owner: UInt32
    package let group: UInt32
    /// Group or others may write to the file.
    package let isOpenToOthers: Bool

    package init(kind: Kind, size: Int, owner: UInt32, group: UInt32, isOpenToOthers: Bool) {
        self.kind = kind
        self.size = size
        self.owner = owner
        self.group = group
        self.isOpenToOthers = isOpenToOthers
    }
}

/// A file that is open, and closes itself; its place goes forward with what is read and written.
package protocol OpenedFile: AnyObject, Sendable {
    func status() throws(SystemError) -> FileStatus

    /// At most `limit` bytes; empty at the end.
    func read(upTo limit: Int) throws(SystemError) -> [UInt8]

    /// At most `limit` bytes from there on; its place stays.
    func read(upTo limit: Int, at offset: Int) throws(SystemError) -> [UInt8]

    func write(_ bytes: [UInt8]) throws(SystemError)

    /// Takes the space for so many bytes.
    func allocate(_ size: Int) throws(SystemError)

    /// fsync: what was written, or the names in a directory, are durable.
    func synchronise() throws(SystemError)

    func give(to owner: UInt32, _ group: UInt32) throws(SystemError)

    /// Keeps out others who lock it, for as long as it is open.
    ///
    /// - Throws: EWOULDBLOCK when somebody else has it.
    func lock() throws(SystemError)
}

extension Files {
    package func exists(_ path: String) throws(SystemError) -> Bool { try status(path) != nil }

    /// Bytes of a regular file; nil when there is none.
    package func size(_ path: String) throws(SystemError) -> Int? {
        try status(path).flatMap { $0.kind == .file ? $0.size : nil }
    }

    /// All of a regular file of at most `limit` bytes.
    ///
    /// - Throws: EFBIG if the file is larger, EINVAL if it is not a regular file: a device or FIFO could block for ever.
    package func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        try open(path, []).readAll(path, limit: limit)
    }

    /// Makes the names in a directory durable: renames, new files and removals.
    package func synchronise(_ directory: String) throws(SystemError) {
        try open(directory, .directory).synchronise()
    }
}

extension OpenedFile {
    private static var chunk: Int { 65_536 }

    func readAll(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        guard try status().kind == .file else { throw SystemError("read " + path, code: EINVAL) }
        var bytes: [UInt8] = []
        while true {
            let more = try read(upTo: Self.chunk)
            if more.isEmpty { return bytes }
            bytes += more
            if bytes.count > limit { throw SystemError("read " + path, code: EFBIG) }
        }
    }
}
