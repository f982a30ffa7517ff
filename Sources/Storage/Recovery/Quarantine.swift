internal import Linux
internal import SQLite

/// What is done about a damaged database: it is renamed, never deleted and never written to again.
struct Quarantine: Sendable {
    let files: any Files

    init(_ files: any Files) {
        self.files = files
    }

    /// Bytes of a regular file; nil when there is none.
    func size(_ path: String) throws(StorageError) -> Int? {
        do { return try files.size(path) } catch { throw StorageError(error) }
    }

    /// Whether anything has this name, a broken link included.
    func exists(_ path: String) throws(StorageError) -> Bool {
        do { return try files.exists(path) } catch { throw StorageError(error) }
    }

    static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Checks whether the file is a sound database of ours before anything in it is changed.
    ///
    /// After a clean shutdown, too, unless the table is large: the whole check costs as much as counting the rows,
    /// 0.05 s for 100,000 of them, because the large tables have no further index; and flash decays while the power
    /// is off.
    ///
    /// - Throws: an error of kind `corrupt` for a database that must be moved aside, and `newerSchema`.
    func check(_ path: String) throws(StorageError) {
        try checkKind(path)
        if try size(path) ?? 0 == 0 {
            try nameOrphan(path)
            try recoverOrphan(path)
        }
        guard try size(path) ?? 0 > 0 else { return }
        do {
            let connection = try Connection(path: path, access: .readWrite, vfs: files.vfs)
            connection.leaveLogOnClose()
            // SQLite silently opens a file read-only when it may, but cannot, open it for writing.
            guard !connection.isReadOnly || !files.isWritable(path) else {
                throw StorageError(
                    operation: "check", kind: .io, message: path + " cannot be opened for writing")
            }
            let hasLog = try size(path + "-wal") ?? 0 > 0
            try check(connection, at: path, hasLog: hasLog)
            guard !connection.isReadOnly || !files.isWritable(path) else {
                throw Self.damage("its header forbids writing")
            }
        } catch let error as SQLiteError where error.code == .error {
            throw Self.damage(error.description)
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(operation: "check", kind: .other, message: "\(error)")
        }
    }

    /// What has the names of the database and its companions must be regular files.
    func checkKind(_ path: String) throws(StorageError) {
        for suffix in Self.suffixes {
            let kind: FileStatus.Kind?
            do { kind = try files.status(path + suffix)?.kind } catch { throw StorageError(error) }
            guard kind ?? .file == .file else {
                throw Self.damage(path + suffix + " is no regular file")
            }
        }
    }

    private func check(_ connection: Connection, at path: String, hasLog: Bool) throws {
        let version = try Schema.foundVersion(connection)
        guard version <= Schema.version else {
            throw StorageError.newerSchema(found: version, known: Schema.version)
        }
        guard try Schema.isOurs(connection, version: version) else {
            throw Self.damage("the tables are not those of beekond")
        }
        // A large database that was shut down cleanly is trusted, because checking it takes seconds.
        if !hasLog, try StoredTallies.exist(in: connection) { return }
        let result = try connection.value("PRAGMA integrity_check(1)") ?? "no answer"
        guard result != "ok" else { return }
        let isOfDisk: Bool
        do {
            isOfDisk = try UnreadablePlaces.isDiskToBlame(for: result, of: path, on: files)
        } catch {
            throw StorageError(error)
        }
        guard !isOfDisk else {
            throw StorageError(
                operation: "check", kind: .io, message: "the disk does not give all of \(path): \(result)")
        }
        throw Self.damage(result)
    }

    private static func damage(_ message: String) -> StorageError {
        StorageError(operation: "check", kind: .corrupt, message: message)
    }
}
