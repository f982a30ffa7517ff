internal import Glibc
package import Linux
package import Support

/// A disk in memory, as one process sees it: files in directories, what of them is durable, and what a power cut may still
/// take. Deterministic: for one seed and the same calls, the same bytes. Not thread-safe.
///
/// A process that dies, or that a power cut ends, leaves its disk deaf: each operation fails from then on. The next process
/// gets the disk that `kill` or `powerCut` returns.
///
/// Written bytes become durable with a sync of the file, names with a sync of their directory, which no sync of a file brings
/// about. Directories themselves are durable as soon as they are made.
package final class SimulatedDisk {
    /// What is about to be done.
    package struct Operation: Sendable {
        /// One that fails names its path and kind.
        package enum Kind: String, CaseIterable, Sendable {
            case open, read, write, truncate, allocate, sync, syncDirectory, remove, rename, list, status,
                lock,
                mapMemory
        }

        package let kind: Kind
        /// Path of the file; empty for a temporary one without a name.
        package let path: String
        /// Where a read or a write begins.
        package let offset: Int
        /// Counts from 1 over the life of the disk object.
        package let number: Int
    }

    /// What becomes of an operation.
    package enum Answer: Sendable {
        case goOn
        /// A sync does nothing and says that it has, as a disk that lies about its cache. All else goes on.
        case pretend
        /// With this errno. A write may have written its first sectors, a sync may lose what it was to write.
        case fail(Int32)
        /// The process dies in the midst of it: this operation and all later ones fail.
        case die
    }

    /// Is asked before each operation; nil: all go on.
    package var fault: ((Operation) -> Answer)?
    /// Whether the process has died.
    package private(set) var isDeaf = false
    /// How many operations there have been.
    package private(set) var operations = 0
    /// Handles that are open.
    package private(set) var openHandles = 0
    private let capacity: Int
    private let space: Space
    private var directories: [String: Directory] = [:]
    /// Decides what failed writes and syncs leave.
    private var fates: SeededGenerator

    /// Bytes of a file at most.
    static let longestFile = 1 << 30

    /// - Parameters:
    ///   - capacity: bytes in files. Each takes whole blocks of 4,096 bytes.
    ///   - seed: decides what failed writes and syncs leave.
    package init(capacity: Int = 1 << 40, seed: UInt64 = 1) {
        self.capacity = capacity
        space = Space(capacity: capacity)
        fates = SeededGenerator(seed: seed)
    }

    private init(capacity: Int, space: Space, _ directories: [String: Directory], fates: SeededGenerator) {
        self.capacity = capacity
        self.space = space
        self.directories = directories
        self.fates = fates
    }

    // MARK: What a death leaves

    /// The process dies now.
    package func die() {
        isDeaf = true
    }

    /// What the next process finds after this one was killed: all that was written. This disk is deaf.
    package func kill() -> SimulatedDisk {
        isDeaf = true
        for directory in directories.values { directory.outlive() }
        let left = SimulatedDisk(capacity: capacity, space: space, directories, fates: fates)
        directories = [:]
        return left
    }

    /// What the next process may find if the power fails now: all that was synced, and of the later changes to each file some,
    /// whole or torn; of each directory the first of its later changes. This disk stays as it is, so that there may be several
    /// such images of a moment.
    package func powerCut(
        _ loss: PowerLoss? = nil, using random: inout SeededGenerator
    ) -> SimulatedDisk {
        let loss = loss ?? PowerLoss.allCases.randomElement(using: &random) ?? .any
        let space = Space(capacity: capacity)
        var images: [String: Directory] = [:]
        for (path, directory) in directories.sorted(by: { $0.key < $1.key }) {
            images[path] = directory.image(after: loss, in: space, using: &random)
        }
        let fates = SeededGenerator(seed: random.next())
        return SimulatedDisk(capacity: capacity, space: space, images, fates: fates)
    }

    // MARK: Space

    /// Bytes that files may still take.
    package var free: Int { max(0, space.free) }

    /// Changes that are not synced, of files and of names.
    package var pending: Int {
        directories.values.reduce(0) { sum, directory in
            directory.names.reduce(sum + directory.pending) { $0 + (directory[$1]?.pending.changes ?? 0) }
        }
    }

    // MARK: Names

    /// Makes a directory, whose parents need not exist.
    package func makeDirectory(_ path: String) {
        if directories[path] == nil { directories[path] = Directory() }
    }

    /// - Throws: ENOENT.
    package func names(in path: String) throws(SystemError) -> [String] {
        try ask(.list, path)
        guard let directory = directories[path] else { throw SystemError("read " + path, code: ENOENT) }
        let inner = directories.keys.filter { $0.hasPrefix(path + "/") }.compactMap { name in
            let rest = name.dropFirst(path.count + 1)
            return rest.contains("/") ? nil : String(rest)
        }
        return inner.isEmpty ? directory.names : (directory.names + inner).sorted()
    }

    /// What has this name.
    package enum Status: Equatable, Sendable {
        case file(size: Int)
        case directory
    }

    /// - Returns: nil when there is nothing.
    package func status(_ path: String) throws(SystemError) -> Status? {
        try ask(.status, path)
        if directories[path] != nil { return .directory }
        return inode(path).map { .file(size: $0.size) }
    }

    /// - Throws: ENOENT, EISDIR.
    package func remove(_ path: String) throws(SystemError) {
        try ask(.remove, path)
        if directories[path] != nil { throw SystemError("remove " + path, code: EISDIR) }
        let place = try place(path)
        guard place.directory.remove(place.name) else { throw SystemError("remove " + path, code: ENOENT) }
    }

    /// Within a directory.
    ///
    /// - Throws: ENOENT, EISDIR, EXDEV.
    package func rename(_ path: String, to target: String) throws(SystemError) {
        try ask(.rename, path)
        let (from, to) = (try place(path), try place(target))
        if directories[target] != nil { throw SystemError("rename " + path, code: EISDIR) }
        guard from.directory === to.directory else { throw SystemError("rename " + path, code: EXDEV) }
        guard from.directory.rename(from.name, to: to.name) else {
            throw SystemError("rename " + path, code: ENOENT)
        }
    }

    /// Makes the names in it durable.
    package func synchronise(_ path: String) throws(SystemError) {
        guard try ask(.syncDirectory, path) else { return }
        guard let directory = directories[path] else { throw SystemError("fsync " + path, code: ENOENT) }
        directory.sync()
    }

    private func place(_ path: String) throws(SystemError) -> (directory: Directory, name: String) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        guard let directory = directories[String(path[..<end])] else {
            throw SystemError("find " + path, code: ENOENT)
        }
        return (directory, String(path[end...].dropFirst()))
    }

    /// What has this name now.
    func inode(_ path: String) -> Inode? {
        guard let place = try? place(path) else { return nil }
        return place.directory[place.name]
    }

    // MARK: Opening

    /// - Parameter isNew: with `create`: fails where it is not missing.
    /// - Throws: ENOENT, EEXIST, EISDIR, ENOSPC.
    package func open(
        _ path: String, _ opening: FileOpening = [], isNew: Bool = false
    ) throws(SystemError) -> SimulatedFile {
        try ask(.open, path)
        if directories[path] != nil { throw SystemError("open " + path, code: EISDIR) }
        let place = try place(path)
        if let found = place.directory[place.name] {
            if isNew { throw SystemError("open " + path, code: EEXIST) }
            if opening.contains(.truncate), found.size > 0 { _ = found.resize(to: 0) }
            return handle(found, path)
        }
        guard opening.contains(.create) else { throw SystemError("open " + path, code: ENOENT) }
        let made = Inode(in: space)
        place.directory.add(made, as: place.name)
        return handle(made, path)
    }

    /// - Throws: ENOENT, ENOTDIR.
    func openDirectory(_ path: String) throws(SystemError) {
        try ask(.open, path)
        guard directories[path] == nil else { return }
        throw SystemError("open " + path, code: inode(path) == nil ? ENOENT : ENOTDIR)
    }

    /// A file without a name, gone when it is closed.
    func openTemporary() throws(SystemError) -> SimulatedFile {
        try ask(.open, "")
        return handle(Inode(in: space), "")
    }

    private func handle(_ inode: Inode, _ path: String) -> SimulatedFile {
        openHandles += 1
        return SimulatedFile(inode, path: path, on: self)
    }

    func close(_ inode: Inode, _ owner: ObjectIdentifier) {
        openHandles -= 1
        inode.close(owner)
    }

    // MARK: Faults

    /// - Returns: false when it is only to pretend.
    /// - Throws: what the fault says; EIO once the process has died.
    @discardableResult
    func ask(_ kind: Operation.Kind, _ path: String, at offset: Int = 0) throws(SystemError) -> Bool {
        guard !isDeaf else { throw SystemError("\(kind) \(path)", code: EIO) }
        operations += 1
        guard let fault else { return true }
        switch fault(Operation(kind: kind, path: path, offset: offset, number: operations)) {
        case .goOn: return true
        case .pretend: return false
        case .fail(let code): throw SystemError("\(kind) \(path)", code: code)
        case .die:
            isDeaf = true
            throw SystemError("\(kind) \(path)", code: EIO)
        }
    }

    /// A write fails: how much of it was written all the same.
    func survivingPart(of count: Int, at offset: Int) -> Int {
        Inode.cut(of: count, at: offset, using: &fates) ?? 0
    }

    /// A sync fails.
    func loseSync(of inode: Inode) {
        inode.loseSync(using: &fates)
    }
}
