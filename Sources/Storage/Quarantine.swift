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

    /// Files that are kept at most, as long as what they held has been saved.
    private static let limit = 2
    /// Ends the names of those whose rows have all been imported.
    private static let salvagedSuffix = ".salvaged"

    /// Renames the database with its WAL and its index to `beekon.db.corrupt-<Unix seconds>`.
    static func putAside(_ path: String) throws(StorageError) -> String {
        let base = path + ".corrupt-\(Clock.realtimeMilliseconds() / 1000)"
        var target = base
        var number = 1
        var status = stat()
        while lstat(target, &status) == 0 || lstat(target + salvagedSuffix, &status) == 0 {
            number += 1
            target = base + "-\(number)"
        }
        try rename(path, to: target)
        return target
    }

    /// Notes that nothing is to be found in the file any more, and lets the oldest such file go when there are too many.
    static func markSalvaged(_ path: String, in directory: String) throws(StorageError) -> String {
        let target = path + salvagedSuffix
        try rename(path, to: target)
        let spent = names(in: directory).filter { $0.contains(".corrupt-") && $0.hasSuffix(salvagedSuffix) }
        for name in spent.dropLast(limit) {
            for suffix in ["", "-wal", "-shm"] { _ = unlink(directory + "/" + name + suffix) }
        }
        return target
    }

    private static func rename(_ path: String, to target: String) throws(StorageError) {
        var status = stat()
        for suffix in ["-wal", "-shm", ""] where lstat(path + suffix, &status) == 0 {
            guard Glibc.rename(path + suffix, target + suffix) == 0 else {
                throw StorageError(SystemError("put aside " + path + suffix))
            }
        }
    }

    /// In ascending order, which for these names is that of their age.
    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names.sorted()
    }
}
