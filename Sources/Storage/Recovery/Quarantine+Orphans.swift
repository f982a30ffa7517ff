internal import Glibc
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
    static func recoverOrphan(_ path: String) throws(StorageError) {
        guard let contents = try orphan(of: path) else { return }
        guard contents.isWhole, let page = contents.firstPage else {
            throw StorageError(
                operation: "check", kind: .corrupt,
                message: "the database is missing or empty, and its WAL, which is not, holds only part of it")
        }
        try write(page, to: path)
    }

    /// One that was put aside must not be opened, because SQLite would delete the WAL. It is kept as it is: without
    /// the pages that describe the tables, nothing in it can be found.
    static func isOrphan(_ path: String) -> Bool {
        fileSize(path) ?? 0 == 0 && fileSize(path + "-wal") ?? 0 > 0
    }

    /// SQLite does not open a WAL whose database name is missing.
    static func nameOrphan(_ path: String) throws(StorageError) {
        guard isOrphan(path), fileSize(path) == nil else { return }
        do {
            _ = try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_NOFOLLOW)
        } catch {
            throw StorageError(error)
        }
    }

    private static func orphan(of path: String) throws(StorageError) -> WriteAheadLog.Contents? {
        guard isOrphan(path) else { return nil }
        do {
            return try WriteAheadLog.contents(database: path)
        } catch {
            throw StorageError(error)
        }
    }

    /// The other pages are in the WAL.
    private static func write(_ page: [UInt8], to path: String) throws(StorageError) {
        let temporary = path + ".tmp"
        do {
            let file = try FileDescriptor.open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
            try file.writeAll(page)
            guard fsync(file.raw) == 0 else { throw SystemError("fsync " + temporary) }
            guard Glibc.rename(temporary, path) == 0 else { throw SystemError("rename " + temporary) }
            try StateDirectory.synchronise(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
        } catch let error as SystemError {
            throw StorageError(error)
        } catch {
            throw StorageError(operation: "write " + path, kind: .io, message: "\(error)")
        }
    }
}
