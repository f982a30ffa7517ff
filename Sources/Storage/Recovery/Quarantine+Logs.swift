internal import Linux
internal import SQLite

/// A WAL whose header is damaged. SQLite takes it for empty, whatever it holds, and writes over it, or deletes it when
/// the database is empty: the transactions in it are lost. A copy is kept as evidence, and because it may be repairable.
extension Quarantine {
    /// Copies that are kept at most.
    private static let logLimit = 2
    private static let chunk = 65_536

    /// Copies the WAL to `beekon.db.corrupt-<Unix seconds>-wal`, durably, unless it is sound or there is such a copy.
    ///
    /// - Returns: what is to be reported.
    func keepDamagedLog(of path: String) throws(StorageError) -> [Store.Event] {
        let log = path + "-wal"
        guard try size(log) ?? 0 > WriteAheadLog.headerSize else { return [] }
        let known = try loneLogs(of: path)
        do throws(SystemError) {
            guard try isDamaged(log) else { return [] }
            let directory = Self.directory(of: path)
            let copies = known.map { directory + "/" + $0 }
            if copies.contains(where: { (try? isEqual($0, log)) == true }) { return [] }
            let target = try freeName(path)
            try keep(log, as: target)
            let removed = copies.dropLast(Self.logLimit - 1).filter { (try? files.remove($0)) != nil }
            try files.synchronise(directory)
            return [.logDamaged(name: target)] + removed.map { .removed(name: $0) }
        } catch {
            throw StorageError(error)
        }
    }

    /// Whether the file holds something else than a WAL. One of zeros does not: file systems leave such after a power cut.
    private func isDamaged(_ log: String) throws(SystemError) -> Bool {
        let file = try files.open(log, [])
        let header = try file.read(upTo: WriteAheadLog.headerSize)
        if WriteAheadLog.isHeader(header) { return false }
        var bytes = header
        while bytes.allSatisfy({ $0 == 0 }) {
            bytes = try file.read(upTo: Self.chunk)
            if bytes.isEmpty { return false }
        }
        return true
    }

    /// Names of such copies, the oldest first. The WAL of a database that was moved aside has that beside it.
    private func loneLogs(of path: String) throws(StorageError) -> [String] {
        let names = try asideNames(of: path)
        return names.filter {
            $0.contains(".corrupt-") && $0.hasSuffix("-wal") && !names.contains(String($0.dropLast(4)))
        }
    }

    private func freeName(_ path: String) throws(SystemError) -> String {
        let base = path + ".corrupt-\(files.time())"
        var (name, number) = (base, 1)
        while try isAnything(named: name, Self.suffixes) {
            number += 1
            name = base + "-\(number)"
        }
        return name + "-wal"
    }

    private func isAnything(named name: String, _ suffixes: [String]) throws(SystemError) -> Bool {
        for suffix in suffixes where try files.exists(name + suffix) { return true }
        return false
    }

    private func isEqual(_ one: String, _ other: String) throws(SystemError) -> Bool {
        guard try files.size(one) == files.size(other) else { return false }
        let first = try files.open(one, [])
        let second = try files.open(other, [])
        while true {
            let left = try first.read(upTo: Self.chunk)
            if left.isEmpty { return true }
            guard try second.read(upTo: Self.chunk) == left else { return false }
        }
    }

    /// Copied, because who reads the database has it open; where there is no room for a copy, or not all of it can be
    /// read, moved: that must not keep the database from being opened.
    private func keep(_ log: String, as target: String) throws(SystemError) {
        let temporary = log + ".tmp"
        do throws(SystemError) {
            try copy(log, to: temporary)
        } catch {
            try? files.remove(temporary)
            do throws(SystemError) { try files.rename(log, to: target) } catch _ { throw error }
            return
        }
        try files.rename(temporary, to: target)
    }

    private func copy(_ source: String, to target: String) throws(SystemError) {
        let from = try files.open(source, [])
        let file = try files.open(target, [.write, .create, .truncate])
        while true {
            let bytes = try from.read(upTo: Self.chunk)
            if bytes.isEmpty { break }
            try file.write(bytes)
        }
        try file.synchronise()
    }
}

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
