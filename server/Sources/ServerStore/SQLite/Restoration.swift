package import Base
internal import Glibc
internal import SQLite

/// Puts a backup in the place of an SQLite database that no server has open. Each step leaves the old database whole, or none, or the
/// new one whole, so that one that is cut short is finished by doing it again.
package struct Restoration {
    private let path: String
    /// Where the new database is made, beside the old one.
    private let part: String
    private let formerLock: FileLock
    /// nil when there is no old one.
    private let lock: FileLock?

    /// - Throws: `.conflict` while a server runs.
    package init(of path: String) throws(StoreError) {
        self.path = path
        part = path + DatabaseFile.restoring
        formerLock = try FileLock(path + ".lock", makes: true)
        lock = FileIdentity(path) == nil ? nil : try FileLock(path, makes: false)
    }

    /// Makes the database from a backup; with the log beside it, if there is one.
    ///
    /// - Parameter time: names what is moved aside.
    /// - Returns: where the old one is now; nil when there was none.
    package func restore(_ backup: String, at time: Timestamp) throws(StoreError) -> String? {
        do throws(StoreError) {
            try copy(backup)
            try check()
            try adopt()
        } catch {
            // Unless the old one has gone already: then this tells servers so.
            if FileIdentity(path) != nil { removePart() }
            throw error
        }
        let old = try moveAside(at: time)
        try Files.rename(part, path)
        try Files.sync(folder)
        return old
    }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    // MARK: The new one

    private func copy(_ backup: String) throws(StoreError) {
        guard FileIdentity(backup) != FileIdentity(path) || FileIdentity(path) == nil else {
            throw Files.error(.conflict, "restore", backup, "it is the database itself")
        }
        guard FileIdentity(backup) != FileIdentity(part) || FileIdentity(part) == nil else {
            throw Files.error(
                .conflict, "restore", backup, "it is an unfinished restore: name the backup")
        }
        var status = stat()
        if stat(backup, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw Files.error(.failed, "restore", backup, "it is not a regular file")
        }
        // Whoever writes to it makes a copy of nothing.
        let reading = try FileLock(backup, makes: false, isShared: true)
        removePart()
        try Files.copy(backup, part)
        if FileIdentity(backup + "-wal") != nil { try Files.copy(backup + "-wal", part + "-wal") }
        withExtendedLifetime(reading) {}
    }

    /// Takes the log into the file, and looks through it.
    private func check() throws(StoreError) {
        do throws(SQLiteError) {
            let connection = try Connection(path: part, access: .readWrite)
            try SQLiteSchema.identify(connection)
            let found = try connection.value("PRAGMA integrity_check(1)")
            guard found == "ok" else {
                throw SQLiteError(
                    operation: "look through it", code: ResultCode(rawValue: 11),
                    message: "it is damaged: \(found ?? "")")
            }
            // Alone, so that the log goes with the connection.
            _ = try connection.value("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            let isDamaged = error.code.primary.rawValue == 11 && !error.message.contains("damaged")
            throw StoreError(
                .failed, operation: "restore",
                message: isDamaged ? "it is damaged: \(error.message)" : error.message)
        }
        guard FileIdentity(part + "-wal") == nil else {
            throw Files.error(.failed, "restore", part, "its log could not be merged into it")
        }
        unlink(part + "-shm")
    }

    /// The new one is whose the old one was; without one, whose the folder is.
    private func adopt() throws(StoreError) {
        var status = stat()
        let isThere = stat(path, &status) == 0 || stat(folder, &status) == 0
        if geteuid() == 0, isThere {
            // The lock may be as new, and the server has to open both.
            for file in [part, path + ".lock"] where chown(file, status.st_uid, status.st_gid) != 0 {
                throw Files.error("give", file)
            }
        }
        try Files.sync(part)
        try Files.sync(folder)
    }

    private func removePart() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(part + suffix) }
    }

    // MARK: The old one

    /// - Returns: its name now; nil when there was none.
    private func moveAside(at time: Timestamp) throws(StoreError) -> String? {
        let log = path + "-wal"
        // Of one that was cut short: the log has its new name already, and still the old one.
        let twin = try twin(of: log)
        let name = free(at: time)
        if FileIdentity(path) != nil {
            if let twin { unlink(twin) }
            // Two names at first: the old database is never without its log, and no other one ever has it.
            if FileIdentity(log) != nil {
                try Files.link(log, name + "-wal")
                try Files.sync(folder)
            }
            try Files.rename(path, name)
            try Files.sync(folder)
            unlink(log)
        } else if twin != nil {
            unlink(log)
        } else if FileIdentity(log) != nil {
            // Somebody has deleted the database, and this is what is left of it.
            try Files.rename(log, name + "-wal")
        }
        unlink(path + "-shm")
        try Files.sync(folder)
        return FileIdentity(name) == nil ? nil : name
    }

    /// A name that nothing has, such as `fleet.db.before-20261124T031500Z`.
    private func free(at time: Timestamp) -> String {
        let stamp = time.iso8601.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        let first = path + Self.aside + stamp
        var (name, number) = (first, 1)
        while FileIdentity(name) != nil || FileIdentity(name + "-wal") != nil {
            number += 1
            name = first + "-\(number)"
        }
        return name
    }

    private static let aside = ".before-"

    /// Another name of the file, among those that are moved aside.
    private func twin(of log: String) throws(StoreError) -> String? {
        guard let identity = FileIdentity(log) else { return nil }
        let base = path.split(separator: "/").last ?? ""
        for name in try Files.names(in: folder) where name.hasPrefix(base + Self.aside) {
            if FileIdentity(folder + "/" + name) == identity { return folder + "/" + name }
        }
        return nil
    }
}
