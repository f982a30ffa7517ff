internal import Glibc
internal import Linux
internal import SQLite

/// What is done about a damaged database: it is renamed, never deleted and never written to again.
enum Quarantine {
    /// Looks whether the file can be one of ours, and sound after an unclean end.
    ///
    /// - Parameter thoroughly: also after a clean end.
    /// - Throws: an error of kind `corrupt` for a database that must be put aside.
    static func check(_ path: String, thoroughly: Bool) throws(StorageError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(operation: "open", kind: .corrupt, message: path + " is no regular file")
        }
        // A clean end leaves no WAL behind.
        guard status.st_size > 0 else { return }
        guard thoroughly || stat(path + "-wal", &status) == 0 && status.st_size > 0 else { return }
        do {
            let connection = try Connection(path: path, access: .readWrite)
            let result = try connection.value("PRAGMA quick_check(1)") ?? "no answer"
            guard result == "ok" else {
                throw StorageError(operation: "quick_check", kind: .corrupt, message: result)
            }
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(operation: "quick_check", kind: .other, message: "\(error)")
        }
    }

    /// Renames the database with its WAL and its index to `beekon.db.corrupt-<Unix seconds>`.
    static func putAside(_ path: String) throws(StorageError) -> String {
        let base = path + ".corrupt-\(Clock.realtimeMilliseconds() / 1000)"
        var target = base
        var number = 1
        var status = stat()
        while lstat(target, &status) == 0 {
            number += 1
            target = base + "-\(number)"
        }
        for suffix in ["", "-wal", "-shm"] where lstat(path + suffix, &status) == 0 {
            guard rename(path + suffix, target + suffix) == 0 else {
                throw StorageError(SystemError("put aside " + path + suffix))
            }
        }
        return target
    }
}
