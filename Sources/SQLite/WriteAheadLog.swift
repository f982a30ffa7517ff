internal import CSQLite

/// The WAL of a database that nobody has open for writing.
///
/// After failing to write pages back, the kernel reports the error once, to a single fsync, and then considers the
/// pages clean: what reads back from its cache may never reach the disk. A checkpoint that trusts such a WAL writes
/// pages of the database although the frames behind them are not on disk, and a power cut half-way leaves part of a
/// transaction.
public enum WriteAheadLog {
    /// How much of the WAL may not have reached the disk.
    public enum Doubt: Sendable {
        /// Every transaction but the latest was synced before the next one began.
        case latestTransaction
        /// None of them is known to have been synced.
        case everything
    }

    /// Rewrites the doubtful frames in place, byte for byte, and syncs them. Frames known to be synced are not
    /// touched.
    ///
    /// Goes through SQLite's VFS, so that tests which intercept the VFS see it.
    ///
    /// - Parameters:
    ///   - database: path of the database; it must exist.
    ///   - vfs: the name of its VFS; nil: the default.
    public static func secure(database: String, doubt: Doubt, vfs: String? = nil) throws(SQLiteError) {
        let file = try LogFile.open(database + "-wal", vfs: vfs)
        guard let frames = try file.frames() else { return }
        try file.rewrite(from: doubt == .everything ? 0 : frames.latest, to: frames.end)
    }
}

/// A file opened through SQLite's VFS.
struct LogFile: ~Copyable {
    static let headerSize = 32
    static let frameHeaderSize = 24

    private let path: UnsafeMutablePointer<CChar>
    let file: UnsafeMutablePointer<sqlite3_file>
    private let memory: UnsafeMutableRawPointer

    private init(path text: String, size: Int) {
        memory = .allocate(byteCount: size, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        file = memory.assumingMemoryBound(to: sqlite3_file.self)
        // SQLite keeps the pointer while the file is open, and may look for URI parameters after the terminating NUL.
        let bytes = Array(text.utf8CString)
        path = .allocate(capacity: bytes.count + 2)
        path.initialize(repeating: 0, count: bytes.count + 2)
        for (index, byte) in bytes.enumerated() { path[index] = byte }
    }

    static func open(
        _ path: String, _ flags: Int32 = SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, vfs: String?
    ) throws(SQLiteError) -> LogFile {
        guard let vfs = sqlite3_vfs_find(vfs), let open = vfs.pointee.xOpen else {
            throw SQLiteError(operation: "find the VFS", code: .cannotOpen, message: "there is none")
        }
        let log = LogFile(path: path, size: Int(vfs.pointee.szOsFile))
        try check(open(vfs, log.path, log.file, flags, nil), "open " + path)
        return log
    }

    deinit {
        if let methods = file.pointee.pMethods { _ = methods.pointee.xClose?(file) }
        memory.deallocate()
        path.deallocate()
    }

    /// Where the latest transaction begins, and where the frames of the WAL's current generation end; nil when there
    /// are none.
    func frames() throws(SQLiteError) -> (latest: Int64, end: Int64)? {
        let size = try size()
        guard size > Int64(Self.headerSize), let header = try read(32, at: 0) else { return nil }
        let pageSize = Int64(Self.number(header, 8))
        guard (512...65536).contains(pageSize) else { return nil }
        let step = Int64(Self.frameHeaderSize) + pageSize
        let first = Int64(Self.headerSize)
        var (latest, begin, end) = (first, first, first)
        while end + step <= size, let frame = try read(24, at: end), frame[8..<16] == header[16..<24] {
            end += step
            // A frame that commits a transaction carries the database size.
            if Self.number(frame, 4) != 0 { (latest, begin) = (begin, end) }
        }
        // Frames after the last commit belong to a transaction that was never committed.
        return end > first ? (latest, end) : nil
    }

    func rewrite(from start: Int64, to end: Int64) throws(SQLiteError) {
        var offset = start
        while offset < end, let bytes = try read(Int(min(65536, end - offset)), at: offset) {
            let code = bytes.withUnsafeBytes {
                file.pointee.pMethods.pointee.xWrite?(file, $0.baseAddress, Int32($0.count), offset)
            }
            try Self.check(code ?? SQLITE_MISUSE, "write the WAL again")
            offset += Int64(bytes.count)
        }
        let code = file.pointee.pMethods.pointee.xSync?(file, SQLITE_SYNC_NORMAL)
        try Self.check(code ?? SQLITE_MISUSE, "sync the WAL")
    }

    /// nil when the file ends too early.
    func read(_ count: Int, at offset: Int64) throws(SQLiteError) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let code = bytes.withUnsafeMutableBytes {
            file.pointee.pMethods.pointee.xRead?(file, $0.baseAddress, Int32(count), offset)
        }
        if code == ResultCode.shortRead.rawValue { return nil }
        try Self.check(code ?? SQLITE_MISUSE, "read the WAL")
        return bytes
    }

    /// Big-endian, like everything in SQLite's file formats.
    static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    static func check(_ code: Int32, _ operation: String) throws(SQLiteError) {
        guard code != SQLITE_OK else { return }
        throw SQLiteError(
            operation: operation, code: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errstr(code)))
    }
}
