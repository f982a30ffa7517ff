internal import CSQLite
internal import Glibc
internal import Linux

/// What SQLite calls for files. Behaves like its VFS for Unix on ext4, as far as the store can tell.
enum Callbacks {
    /// Without name, place and object.
    static var vfs: sqlite3_vfs {
        var vfs = sqlite3_vfs()
        vfs.iVersion = 2
        vfs.szOsFile = Int32(MemoryLayout<sqlite3_file>.stride + MemoryLayout<Unmanaged<VFSFile>>.stride)
        vfs.xOpen = { vfs, path, file, flags, answer in
            guard let vfs = SimulatedVFS.of(vfs), let file else { return SQLITE_MISUSE }
            return VFSFile.open(vfs, path.map { String(cString: $0) }, file, flags, answer)
        }
        vfs.xDelete = { vfs, path, syncsDirectory in
            guard let vfs = SimulatedVFS.of(vfs), let path else { return SQLITE_MISUSE }
            return vfs.delete(String(cString: path), syncsDirectory: syncsDirectory != 0)
        }
        vfs.xAccess = { vfs, path, _, answer in
            guard let vfs = SimulatedVFS.of(vfs), let path, let answer else { return SQLITE_MISUSE }
            return vfs.access(String(cString: path), answer)
        }
        vfs.xFullPathname = { _, path, room, full in
            guard let path, let full else { return SQLITE_MISUSE }
            let count = strlen(path) + 1
            guard count <= Int(room) else { return SQLITE_CANTOPEN }
            memcpy(full, path, count)
            return SQLITE_OK
        }
        vfs.xRandomness = { vfs, count, bytes in
            guard let vfs = SimulatedVFS.of(vfs), let bytes else { return 0 }
            vfs.surroundings.random(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        vfs.xSleep = { vfs, microseconds in
            SimulatedVFS.of(vfs)?.surroundings.sleep(Int(microseconds))
            return microseconds
        }
        vfs.xCurrentTime = { vfs, days in
            guard let vfs = SimulatedVFS.of(vfs), let days else { return SQLITE_MISUSE }
            days.pointee = Double(Callbacks.epoch + vfs.surroundings.now()) / 86_400_000
            return SQLITE_OK
        }
        vfs.xCurrentTimeInt64 = { vfs, milliseconds in
            guard let vfs = SimulatedVFS.of(vfs), let milliseconds else { return SQLITE_MISUSE }
            milliseconds.pointee = Callbacks.epoch + vfs.surroundings.now()
            return SQLITE_OK
        }
        vfs.xGetLastError = { vfs, _, _ in SimulatedVFS.of(vfs)?.lastError ?? 0 }
        return vfs
    }

    /// Milliseconds from SQLite's day 0 to 1970.
    private static let epoch: Int64 = 210_866_760_000_000

    /// Version 2: nothing is mapped, so every read and write is seen.
    nonisolated(unsafe) static let methods: UnsafeMutablePointer<sqlite3_io_methods> = {
        // Unsafe: written once, here; SQLite only reads it.
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 2
        methods.pointee.xClose = { file in VFSFile.close(file) }
        methods.pointee.xRead = { file, bytes, count, offset in
            guard let bytes else { return SQLITE_MISUSE }
            let target = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
            return VFSFile.of(file)?.read(target, at: Int(offset)) ?? SQLITE_MISUSE
        }
        methods.pointee.xWrite = { file, bytes, count, offset in
            let source = UnsafeRawBufferPointer(start: bytes, count: Int(count))
            return VFSFile.of(file)?.write(source, at: Int(offset)) ?? SQLITE_MISUSE
        }
        methods.pointee.xTruncate = { file, size in
            VFSFile.of(file)?.truncate(to: Int(size)) ?? SQLITE_MISUSE
        }
        methods.pointee.xSync = { file, _ in VFSFile.of(file)?.sync() ?? SQLITE_MISUSE }
        methods.pointee.xFileSize = { file, size in
            guard let size else { return SQLITE_MISUSE }
            return VFSFile.of(file)?.size(size) ?? SQLITE_MISUSE
        }
        methods.pointee.xLock = { file, level in VFSFile.of(file)?.lock(to: level) ?? SQLITE_MISUSE }
        methods.pointee.xUnlock = { file, level in VFSFile.of(file)?.unlock(to: level) ?? SQLITE_MISUSE }
        methods.pointee.xCheckReservedLock = { file, answer in
            guard let own = VFSFile.of(file), let answer else { return SQLITE_MISUSE }
            answer.pointee = own.isReserved ? 1 : 0
            return SQLITE_OK
        }
        methods.pointee.xFileControl = { file, operation, argument in
            VFSFile.of(file)?.control(operation, argument) ?? SQLITE_MISUSE
        }
        methods.pointee.xSectorSize = { _ in 4096 }
        methods.pointee.xDeviceCharacteristics = { file in VFSFile.of(file)?.characteristics ?? 0 }
        methods.pointee.xShmMap = { file, region, size, makes, memory in
            guard let memory else { return SQLITE_MISUSE }
            return VFSFile.of(file)?.map(Int(region), size: Int(size), makes: makes != 0, memory)
                ?? SQLITE_MISUSE
        }
        methods.pointee.xShmLock = { file, first, count, flags in
            VFSFile.of(file)?.lockMemory(first, count, flags) ?? SQLITE_MISUSE
        }
        // One thread.
        methods.pointee.xShmBarrier = { _ in }
        methods.pointee.xShmUnmap = { file, _ in
            VFSFile.of(file)?.unmap()
            return SQLITE_OK
        }
        return methods
    }()
}

/// SQLITE_IOERR_…, which Swift does not import.
enum IOError {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let sync = SQLITE_IOERR | 4 << 8
    static let directorySync = SQLITE_IOERR | 5 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let status = SQLITE_IOERR | 7 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let access = SQLITE_IOERR | 13 << 8
    static let lock = SQLITE_IOERR | 15 << 8
    static let memorySize = SQLITE_IOERR | 19 << 8
    static let nothingToDelete = SQLITE_IOERR | 23 << 8
}

extension SimulatedVFS {
    static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> SimulatedVFS? {
        vfs?.pointee.pAppData.map { Unmanaged<SimulatedVFS>.fromOpaque($0).takeUnretainedValue() }
    }

    func delete(_ path: String, syncsDirectory: Bool) -> Int32 {
        do throws(SystemError) {
            try disk.remove(path)
        } catch {
            return failed(error.code, error.code == ENOENT ? IOError.nothingToDelete : IOError.delete)
        }
        guard syncsDirectory else { return SQLITE_OK }
        do throws(SystemError) {
            try disk.synchronise(directory(of: path))
            return SQLITE_OK
        } catch {
            return failed(error.code, IOError.directorySync)
        }
    }

    /// An empty file is none, to SQLite.
    func access(_ path: String, _ answer: UnsafeMutablePointer<Int32>) -> Int32 {
        do throws(SystemError) {
            switch try disk.status(path) {
            case .directory: answer.pointee = 1
            case .file(let size): answer.pointee = size > 0 ? 1 : 0
            case nil: answer.pointee = 0
            }
            return SQLITE_OK
        } catch {
            return failed(error.code, IOError.access)
        }
    }

    func directory(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
