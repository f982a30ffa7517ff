internal import Glibc
internal import Linux
internal import SQLite

/// What is done about a damaged database: it is renamed, never deleted and never written to again.
enum Quarantine {
    static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Checks whether the file is a sound database of ours before anything in it is changed.
    ///
    /// After a clean shutdown, too, unless the table is large: the whole check costs as much as counting the rows,
    /// 0.05 s for 100,000 of them, because the large tables have no further index; and flash decays while the power
    /// is off.
    ///
    /// - Throws: an error of kind `corrupt` for a database that must be put aside, and `newerSchema`.
    static func check(_ path: String) throws(StorageError) {
        try checkKind(path)
        var status = stat()
        if lstat(path, &status) != 0 || status.st_size == 0 {
            try nameOrphan(path)
            try recoverOrphan(path)
        }
        guard lstat(path, &status) == 0, status.st_size > 0 else { return }
        do {
            let connection = try Connection(path: path, access: .readWrite)
            connection.leaveLogOnClose()
            // SQLite silently opens a file read-only when it may, but cannot, open it for writing.
            guard !connection.isReadOnly || access(path, W_OK) != 0 else {
                throw StorageError(
                    operation: "check", kind: .io, message: path + " cannot be opened for writing")
            }
            let hasLog = fileSize(path + "-wal") ?? 0 > 0
            try check(connection, hasLog: hasLog)
            guard !connection.isReadOnly || access(path, W_OK) != 0 else {
                throw damage("its header forbids writing")
            }
        } catch let error as SQLiteError where error.code == .error {
            throw damage(error.description)
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(operation: "check", kind: .other, message: "\(error)")
        }
    }

    /// What has the names of the database and its companions must be regular files.
    static func checkKind(_ path: String) throws(StorageError) {
        var status = stat()
        for suffix in suffixes where lstat(path + suffix, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw damage(path + suffix + " is no regular file")
            }
        }
    }

    private static func check(_ connection: Connection, hasLog: Bool) throws {
        let version = try Schema.foundVersion(connection)
        guard version <= Schema.version else {
            throw StorageError.newerSchema(found: version, known: Schema.version)
        }
        guard try Schema.isOurs(connection, version: version) else {
            throw damage("the tables are not those of beekond")
        }
        // A large database that was shut down cleanly is trusted, because checking it takes seconds.
        if !hasLog, try Writer.hasTallies(connection) { return }
        let result = try connection.value("PRAGMA integrity_check(1)") ?? "no answer"
        guard result == "ok" else { throw damage(result) }
    }

    private static func damage(_ message: String) -> StorageError {
        StorageError(operation: "check", kind: .corrupt, message: message)
    }
}
