internal import Glibc
package import Linux

/// The files of one simulated process: its disk, and its databases there. Whoever makes it keeps it until all of them are closed.
///
/// Unchecked: a simulated world is one thread.
package final class SimulatedFiles: Files, @unchecked Sendable {
    package let disk: SimulatedDisk
    private let databases: SimulatedVFS

    /// - Parameter surroundings: their time is also that of `time()`.
    package init(on disk: SimulatedDisk, _ surroundings: SimulatedVFS.Surroundings = .standing()) throws {
        self.disk = disk
        databases = try SimulatedVFS(on: disk, surroundings)
    }

    package var vfs: String? { databases.name }

    /// Files that are open, SQLite's and others.
    package var openHandles: Int { disk.openHandles + databases.sharedMemories }

    package func open(_ path: String, _ opening: FileOpening) throws(SystemError) -> any OpenedFile {
        if opening.contains(.directory) {
            try disk.openDirectory(path)
            return SimulatedOpenDirectory(path, on: disk)
        }
        let isWriting = opening.contains(.write) || opening.contains(.readWrite)
        return SimulatedOpenFile(try disk.open(path, opening), isReadOnly: !isWriting)
    }

    package func status(_ path: String) throws(SystemError) -> FileStatus? {
        try disk.status(path).map { FileStatus($0) }
    }

    package func isWritable(_ path: String) -> Bool { !disk.isDeaf }

    package func names(in directory: String) throws(SystemError) -> [String] {
        try disk.names(in: directory)
    }

    package func rename(_ path: String, to target: String) throws(SystemError) {
        try disk.rename(path, to: target)
    }

    package func remove(_ path: String) throws(SystemError) { try disk.remove(path) }

    package func makeDirectory(_ path: String) throws(SystemError) -> String {
        if try disk.status(path) == nil { disk.makeDirectory(path) }
        return path
    }

    package func freeSpace(in directory: String) -> Int? { disk.isDeaf ? nil : disk.free }

    package func time() -> Int64 { databases.surroundings.now() / 1000 }
}

extension FileStatus {
    fileprivate init(_ status: SimulatedDisk.Status) {
        switch status {
        case .directory: self.init(kind: .directory, size: 0)
        case .file(let size): self.init(kind: .file, size: size)
        }
    }

    /// Everything is root's, as whom a simulated daemon runs.
    fileprivate init(kind: Kind, size: Int) {
        self.init(kind: kind, size: size, owner: 0, group: 0, isOpenToOthers: false)
    }
}

/// Unchecked: a simulated world is one thread.
private final class SimulatedOpenFile: OpenedFile, @unchecked Sendable {
    private let file: SimulatedFile
    private let isReadOnly: Bool
    private var offset = 0

    init(_ file: SimulatedFile, isReadOnly: Bool) {
        self.file = file
        self.isReadOnly = isReadOnly
    }

    func status() throws(SystemError) -> FileStatus { FileStatus(kind: .file, size: try file.size()) }

    func read(upTo limit: Int) throws(SystemError) -> [UInt8] {
        let bytes = try read(upTo: limit, at: offset)
        offset += bytes.count
        return bytes
    }

    func read(upTo limit: Int, at offset: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count: Int
        do {
            count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
        } catch {
            throw error as? SystemError ?? SystemError("read " + file.path, code: EIO)
        }
        return Array(bytes[..<count])
    }

    func write(_ bytes: [UInt8]) throws(SystemError) {
        guard !isReadOnly else { throw SystemError("write " + file.path, code: EBADF) }
        do {
            try bytes.withUnsafeBytes { try file.write($0, at: offset) }
        } catch {
            throw error as? SystemError ?? SystemError("write " + file.path, code: EIO)
        }
        offset += bytes.count
    }

    func allocate(_ size: Int) throws(SystemError) { try file.allocate(size) }

    func synchronise() throws(SystemError) { try file.sync() }

    func give(to owner: UInt32, _ group: UInt32) {}

    func lock() throws(SystemError) {
        guard try file.lock(to: Inode.Lock.exclusive) else {
            throw SystemError("lock " + file.path, code: EWOULDBLOCK)
        }
    }
}

/// Unchecked: a simulated world is one thread.
private final class SimulatedOpenDirectory: OpenedFile, @unchecked Sendable {
    private let path: String
    private let disk: SimulatedDisk

    init(_ path: String, on disk: SimulatedDisk) {
        self.path = path
        self.disk = disk
    }

    func status() -> FileStatus { FileStatus(kind: .directory, size: 0) }

    func synchronise() throws(SystemError) { try disk.synchronise(path) }

    func read(upTo limit: Int) throws(SystemError) -> [UInt8] { throw isDirectory }
    func read(upTo limit: Int, at offset: Int) throws(SystemError) -> [UInt8] { throw isDirectory }
    func write(_ bytes: [UInt8]) throws(SystemError) { throw isDirectory }
    func allocate(_ size: Int) throws(SystemError) { throw isDirectory }
    func give(to owner: UInt32, _ group: UInt32) {}
    func lock() throws(SystemError) { throw isDirectory }

    private var isDirectory: SystemError { SystemError("use " + path, code: EISDIR) }
}
