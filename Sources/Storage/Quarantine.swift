internal import Glibc
internal import Linux
internal import SQLite

/// What is done about a damaged database: it is renamed, never deleted and never written to again.
enum Quarantine {
    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    /// Looks whether the file is a sound database of ours, before anything in it is changed.
    ///
    /// After a clean end, too: the whole check costs what counting the rows does, 0.05 s for 100,000 of them,
    /// because the large tables have no further index; and flash decays while the power is off.
    ///
    /// - Throws: an error of kind `corrupt` for a database that must be put aside, and `newerSchema`.
    static func check(_ path: String) throws(StorageError) {
        var status = stat()
        for suffix in suffixes where lstat(path + suffix, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw damage(path + suffix + " is no regular file") }
        }
        guard lstat(path, &status) == 0, status.st_size > 0 else { return }
        do {
            let connection = try Connection(path: path, access: .readWrite)
            connection.leaveLogOnClose()
            try check(connection)
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

    private static func check(_ connection: borrowing Connection) throws {
        let version = try Schema.foundVersion(connection)
        guard version <= Schema.version else {
            throw StorageError.newerSchema(found: version, known: Schema.version)
        }
        guard try Schema.isOurs(connection, version: version) else {
            throw damage("the tables are not those of beekond")
        }
        let result = try connection.value("PRAGMA integrity_check(1)") ?? "no answer"
        guard result == "ok" else { throw damage(result) }
    }

    private static func damage(_ message: String) -> StorageError {
        StorageError(operation: "check", kind: .corrupt, message: message)
    }

    /// Renames the database with its companions to `beekon.db.corrupt-<Unix seconds>`.
    static func putAside(_ path: String) throws(StorageError) -> String {
        let base = path + ".corrupt-\(Clock.realtimeMilliseconds() / 1000)"
        var target = base
        var number = 1
        var status = stat()
        while lstat(target, &status) == 0 {
            number += 1
            target = base + "-\(number)"
        }
        for suffix in suffixes where lstat(path + suffix, &status) == 0 {
            guard rename(path + suffix, target + suffix) == 0 else {
                throw StorageError(SystemError("put aside " + path + suffix))
            }
        }
        return target
    }
}
