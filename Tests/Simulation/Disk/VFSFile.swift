internal import CSQLite
internal import Glibc
internal import Linux

/// What SQLite has for an open file.
final class VFSFile {
    private let vfs: SimulatedVFS
    private let file: SimulatedFile
    private let isReadOnly: Bool
    private let deletesOnClose: Bool
    /// The next sync takes the directory with it, as for a WAL or a journal that was just made.
    private var syncsDirectory: Bool
    private var keepsLog = false
    /// A write changes no byte beside it when the power fails.
    private var isPowerSafe = true
    private var memory: (shared: SharedMemory, claims: SharedMemory.Claims)?

    private init(_ vfs: SimulatedVFS, _ file: SimulatedFile, _ flags: Int32) {
        self.vfs = vfs
        self.file = file
        isReadOnly = flags & SQLITE_OPEN_READONLY != 0
        deletesOnClose = flags & SQLITE_OPEN_DELETEONCLOSE != 0
        let logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL
        syncsDirectory = flags & SQLITE_OPEN_CREATE != 0 && flags & logs != 0
    }

    // MARK: Opening and closing

    /// - Parameter path: nil for a temporary file.
    static func open(
        _ vfs: SimulatedVFS, _ path: String?, _ file: UnsafeMutablePointer<sqlite3_file>, _ wanted: Int32,
        _ answer: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        file.pointee.pMethods = nil
        var flags = wanted
        let opened: SimulatedFile
        do throws(SystemError) {
            opened = try open(vfs.disk, path, &flags)
        } catch {
            return vfs.failed(error.code, SQLITE_CANTOPEN)
        }
        let own = Unmanaged.passRetained(VFSFile(vfs, opened, flags))
        place(file).storeBytes(of: own, as: Unmanaged<VFSFile>.self)
        vfs.opened()
        file.pointee.pMethods = UnsafePointer(Callbacks.methods)
        answer?.pointee = flags
        return SQLITE_OK
    }

    /// Like the VFS for Unix, opens for reading what it cannot open for writing.
    private static func open(
        _ disk: SimulatedDisk, _ path: String?, _ flags: inout Int32
    ) throws(SystemError) -> SimulatedFile {
        guard let path else { return try disk.openTemporary() }
        let opening: FileOpening = flags & SQLITE_OPEN_CREATE != 0 ? .create : []
        do throws(SystemError) {
            return try disk.open(path, opening, isNew: flags & SQLITE_OPEN_EXCLUSIVE != 0)
        } catch {
            guard flags & SQLITE_OPEN_READWRITE != 0, ![EISDIR, ENOENT, EEXIST].contains(error.code) else {
                throw error
            }
            flags = flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_READONLY
            return try disk.open(path)
        }
    }

    static func close(_ file: UnsafeMutablePointer<sqlite3_file>?) -> Int32 {
        guard let file, let own = of(file) else { return SQLITE_MISUSE }
        own.unmap()
        if own.deletesOnClose, !own.file.path.isEmpty { try? own.vfs.disk.remove(own.file.path) }
        own.vfs.closed()
        file.pointee.pMethods = nil
        place(file).load(as: Unmanaged<VFSFile>.self).release()
        return SQLITE_OK
    }

    static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> VFSFile? {
        guard let file, file.pointee.pMethods != nil else { return nil }
        return place(file).load(as: Unmanaged<VFSFile>.self).takeUnretainedValue()
    }

    /// Behind what SQLite knows of the file.
    private static func place(_ file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(file) + MemoryLayout<sqlite3_file>.stride
    }

    // MARK: Content

    func read(_ target: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
        do throws(SystemError) {
            return try file.read(into: target, at: offset) == target.count ? SQLITE_OK : IOError.shortRead
        } catch {
            return vfs.failed(error.code, IOError.read)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        if isReadOnly { return vfs.failed(EBADF, IOError.write) }
        do throws(SystemError) {
            try file.write(bytes, at: offset)
            return SQLITE_OK
        } catch {
            return vfs.failed(error.code, error.code == ENOSPC ? SQLITE_FULL : IOError.write)
        }
    }

    func truncate(to size: Int) -> Int32 {
        attempt(IOError.truncate) { () throws(SystemError) in try file.truncate(to: size) }
    }

    func sync() -> Int32 {
        let code = attempt(IOError.sync) { () throws(SystemError) in try file.sync() }
        guard code == SQLITE_OK, syncsDirectory else { return code }
        // SQLite ignores the outcome, too.
        try? vfs.disk.synchronise(vfs.directory(of: file.path))
        syncsDirectory = false
        return code
    }

    func size(_ size: UnsafeMutablePointer<sqlite3_int64>) -> Int32 {
        attempt(IOError.status) { () throws(SystemError) in size.pointee = Int64(try file.size()) }
    }

    private func attempt(_ code: Int32, _ body: () throws(SystemError) -> Void) -> Int32 {
        do throws(SystemError) {
            try body()
            return SQLITE_OK
        } catch {
            return vfs.failed(error.code, code)
        }
    }

    // MARK: Locks

    func lock(to level: Int32) -> Int32 {
        if file.level >= level { return SQLITE_OK }
        do throws(SystemError) {
            return try file.lock(to: level) ? SQLITE_OK : SQLITE_BUSY
        } catch {
            return vfs.failed(error.code, IOError.lock)
        }
    }

    func unlock(to level: Int32) -> Int32 {
        file.unlock(to: level)
        return SQLITE_OK
    }

    var isReserved: Bool { file.level >= SQLITE_LOCK_RESERVED || file.isReservedByOthers }

    // MARK: Everything else

    var characteristics: Int32 { isPowerSafe ? SQLITE_IOCAP_POWERSAFE_OVERWRITE : 0 }

    func control(_ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        guard let argument else { return SQLITE_NOTFOUND }
        let number = argument.assumingMemoryBound(to: Int32.self)
        switch operation {
        case SQLITE_FCNTL_LOCKSTATE: number.pointee = file.level
        case SQLITE_FCNTL_LAST_ERRNO: number.pointee = vfs.lastError
        case SQLITE_FCNTL_HAS_MOVED: number.pointee = file.hasMoved ? 1 : 0
        case SQLITE_FCNTL_PERSIST_WAL: Self.set(&keepsLog, number)
        case SQLITE_FCNTL_POWERSAFE_OVERWRITE: Self.set(&isPowerSafe, number)
        // Only hints: space is taken as files grow.
        case SQLITE_FCNTL_SIZE_HINT, SQLITE_FCNTL_CHUNK_SIZE: break
        // Nothing is mapped, and nothing ever is.
        case SQLITE_FCNTL_MMAP_SIZE: argument.storeBytes(of: 0, as: sqlite3_int64.self)
        default: return SQLITE_NOTFOUND
        }
        return SQLITE_OK
    }

    /// A negative number only asks.
    private static func set(_ flag: inout Bool, _ number: UnsafeMutablePointer<Int32>) {
        if number.pointee >= 0 { flag = number.pointee > 0 }
        number.pointee = flag ? 1 : 0
    }

    // MARK: Shared memory

    func map(
        _ region: Int, size: Int, makes: Bool, _ answer: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    ) -> Int32 {
        answer.pointee = nil
        let shared: SharedMemory
        if let memory {
            shared = memory.shared
        } else {
            shared = vfs.memory(of: file)
            memory = (shared, shared.join())
        }
        if makes, !shared.has(region) {
            // The VFS for Unix has a file for it.
            do throws(SystemError) {
                try vfs.disk.ask(.mapMemory, file.path + "-shm")
                guard vfs.disk.free >= size else { throw SystemError("map " + file.path, code: ENOSPC) }
            } catch {
                return vfs.failed(error.code, IOError.memorySize)
            }
        }
        answer.pointee = shared.region(region, size: size, makes: makes)
        return SQLITE_OK
    }

    func lockMemory(_ first: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        guard let memory else { return SQLITE_MISUSE }
        let mask = ((1 << UInt32(count)) - 1) << UInt32(first) as UInt32
        if flags & SQLITE_SHM_UNLOCK != 0 {
            memory.shared.unlock(mask, of: memory.claims)
            return SQLITE_OK
        }
        let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
        return memory.shared.lock(mask, isExclusive: isExclusive, for: memory.claims)
            ? SQLITE_OK : SQLITE_BUSY
    }

    func unmap() {
        guard let memory else { return }
        self.memory = nil
        if memory.shared.leave(memory.claims) { vfs.dropMemory(of: file) }
    }
}
