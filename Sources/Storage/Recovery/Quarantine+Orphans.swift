internal import Linux
internal import SQLite

/// A WAL without its database: the file was deleted, or truncated by a file system repair. SQLite then deletes the
/// WAL, with every transaction in it that had not been checkpointed.
///
/// A power cut does not cause this: the first page of a new database is written and synced, with its name, before
/// there is a WAL.
extension Quarantine {
    /// Creates a database in front of a WAL that contains all of one.
    ///
    /// - Throws: an error of kind `corrupt` when it contains only part of one.
    func recoverOrphan(_ path: String) throws(StorageError) {
        guard let contents = try orphan(of: path) else { return }
        guard contents.isWhole, let page = contents.firstPage else {
            throw StorageError(
                operation: "check", kind: .corrupt,
                message: "the database is missing or empty, and its WAL, which is not, holds only part of it")
        }
        try write(page, to: path)
    }

    /// One that was moved aside must not be opened, because SQLite would delete the WAL. It is kept as it is: without
    /// the pages that describe the tables, nothing in it can be found.
    func isOrphan(_ path: String) throws(StorageError) -> Bool {
        guard try size(path) ?? 0 == 0 else { return false }
        return try size(path + "-wal") ?? 0 > 0
    }

    /// SQLite does not open a WAL whose database name is missing.
    func nameOrphan(_ path: String) throws(StorageError) {
        guard try isOrphan(path), try size(path) == nil else { return }
        do {
            _ = try files.open(path, [.write, .create])
        } catch {
            throw StorageError(error)
        }
    }

    private func orphan(of path: String) throws(StorageError) -> WriteAheadLog.Contents? {
        guard try isOrphan(path) else { return nil }
        do {
            return try WriteAheadLog.contents(database: path, vfs: files.vfs)
        } catch {
            throw StorageError(error)
        }
    }

    /// The other pages are in the WAL.
    private func write(_ page: [UInt8], to path: String) throws(StorageError) {
        let temporary = path + ".tmp"
        do {
            let file = try files.open(temporary, [.write, .create, .truncate])
            try file.write(page)
            try file.synchronise()
            try files.rename(temporary, to: path)
            try files.synchronise(Self.directory(of: path))
        } catch {
            throw StorageError(error)
        }
    }
}
