internal import Glibc
package import Linux

/// An open file of a simulated disk, which closes itself. It outlives the file's names.
package final class SimulatedFile {
    /// As it was opened; the file may have lost this name since.
    package let path: String
    private let disk: SimulatedDisk
    private let inode: Inode

    init(_ inode: Inode, path: String, on disk: SimulatedDisk) {
        self.inode = inode
        self.path = path
        self.disk = disk
        inode.open()
    }

    deinit {
        disk.close(inode, ObjectIdentifier(self))
    }

    /// Bytes.
    package func size() throws(SystemError) -> Int {
        try disk.ask(.status, path)
        return inode.size
    }

    /// Fills all of `target`, behind the end of the file with zeros.
    ///
    /// - Returns: how many of these bytes are the file's.
    package func read(
        into target: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(SystemError) -> Int {
        try disk.ask(.read, path, at: offset)
        return inode.read(into: target, at: offset)
    }

    /// - Throws: ENOSPC, and EFBIG from 1 GiB on. The first sectors of what fails may have been written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
        let wasDeaf = disk.isDeaf
        do throws(SystemError) {
            try disk.ask(.write, path, at: offset)
        } catch {
            if !wasDeaf, error.code != EROFS {
                let part = disk.survivingPart(of: bytes.count, at: offset)
                if part > 0 { _ = inode.write(UnsafeRawBufferPointer(rebasing: bytes[..<part]), at: offset) }
            }
            throw error
        }
        guard offset >= 0, offset <= SimulatedDisk.longestFile - bytes.count else {
            throw SystemError("write " + path, code: EFBIG)
        }
        guard inode.write(bytes, at: offset) == bytes.count else {
            throw SystemError("write " + path, code: ENOSPC)
        }
    }

    /// - Throws: EFBIG from 1 GiB on; ENOSPC.
    package func truncate(to size: Int) throws(SystemError) {
        try resize(to: size, .truncate)
    }

    /// Takes the space for so many bytes; the file is not made shorter.
    ///
    /// - Throws: EFBIG from 1 GiB on; ENOSPC.
    package func allocate(_ size: Int) throws(SystemError) {
        try resize(to: max(size, inode.size), .allocate)
    }

    private func resize(to size: Int, _ kind: SimulatedDisk.Operation.Kind) throws(SystemError) {
        try disk.ask(kind, path)
        guard 0...SimulatedDisk.longestFile ~= size else {
            throw SystemError("\(kind) \(path)", code: EFBIG)
        }
        guard inode.resize(to: size) else { throw SystemError("\(kind) \(path)", code: ENOSPC) }
    }

    /// Makes its bytes durable, not its name.
    ///
    /// - Throws: then half of what it was to write may be lost, and no later sync tells.
    package func sync() throws(SystemError) {
        let wasDeaf = disk.isDeaf
        do throws(SystemError) {
            guard try disk.ask(.sync, path) else { return }
        } catch {
            // Who dies in a sync has lost nothing: the kernel goes on.
            if !wasDeaf, !disk.isDeaf { disk.loseSync(of: inode) }
            throw error
        }
        inode.sync()
    }

    // MARK: For SQLite

    /// Whether what has its name is another file, or nothing.
    var hasMoved: Bool { disk.inode(path) !== inode }
    /// What tells it from other files.
    var identity: ObjectIdentifier { ObjectIdentifier(inode) }
    /// The level of SQLite's lock that this handle holds.
    var level: Int32 { inode.level(of: ObjectIdentifier(self)) }

    /// - Returns: false when others are in the way.
    func lock(to level: Int32) throws(SystemError) -> Bool {
        try disk.ask(.lock, path)
        return inode.lock(ObjectIdentifier(self), to: level)
    }

    func unlock(to level: Int32) {
        inode.unlock(ObjectIdentifier(self), to: level)
    }

    var isReservedByOthers: Bool { inode.isLocked(Inode.Lock.reserved, besides: ObjectIdentifier(self)) }
}
