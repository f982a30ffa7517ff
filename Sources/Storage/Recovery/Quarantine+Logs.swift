internal import Glibc
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
    static func keepDamagedLog(of path: String) throws(StorageError) -> [Store.Event] {
        let log = path + "-wal"
        guard fileSize(log) ?? 0 > WriteAheadLog.headerSize else { return [] }
        do throws(SystemError) {
            guard try isDamaged(log) else { return [] }
            let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
            let copies = loneLogs(of: path).map { directory + "/" + $0 }
            if copies.contains(where: { (try? isEqual($0, log)) == true }) { return [] }
            let target = freeName(path)
            try keep(log, as: target)
            let removed = copies.dropLast(logLimit - 1).filter { unlink($0) == 0 }
            try StateDirectory.synchronise(directory)
            return [.logDamaged(name: target)] + removed.map { .removed(name: $0) }
        } catch {
            throw StorageError(error)
        }
    }

    /// Nothing was ever written to a file of zeros: file systems leave such files after a power cut.
    private static func isDamaged(_ log: String) throws(SystemError) -> Bool {
        let file = try FileDescriptor.open(log, O_RDONLY | O_NOFOLLOW)
        guard let header = try file.read(upTo: WriteAheadLog.headerSize), !WriteAheadLog.isHeader(header)
        else {
            return false
        }
        var bytes = header
        while bytes.allSatisfy({ $0 == 0 }) {
            guard let more = try file.read(upTo: chunk), !more.isEmpty else { return false }
            bytes = more
        }
        return true
    }

    /// Names of such copies, the oldest first. The WAL of a database that was put aside has that beside it.
    private static func loneLogs(of path: String) -> [String] {
        let names = asideNames(of: path)
        return names.filter {
            $0.contains(".corrupt-") && $0.hasSuffix("-wal") && !names.contains(String($0.dropLast(4)))
        }
    }

    private static func freeName(_ path: String) -> String {
        let base = path + ".corrupt-\(Clock.realtimeMilliseconds() / 1000)"
        var (name, number) = (base, 1)
        var status = stat()
        while suffixes.contains(where: { lstat(name + $0, &status) == 0 }) {
            number += 1
            name = base + "-\(number)"
        }
        return name + "-wal"
    }

    private static func isEqual(_ one: String, _ other: String) throws(SystemError) -> Bool {
        guard fileSize(one) == fileSize(other) else { return false }
        let first = try FileDescriptor.open(one, O_RDONLY | O_NOFOLLOW)
        let second = try FileDescriptor.open(other, O_RDONLY | O_NOFOLLOW)
        while let left = try first.read(upTo: chunk), !left.isEmpty {
            guard try second.read(upTo: chunk) == left else { return false }
        }
        return true
    }

    /// Copied, because who reads the database has it open; where there is no room for a copy, or not all of it can be
    /// read, moved: that must not keep the database from being opened.
    private static func keep(_ log: String, as target: String) throws(SystemError) {
        let temporary = log + ".tmp"
        do throws(SystemError) {
            try copy(log, to: temporary)
        } catch {
            _ = unlink(temporary)
            guard Glibc.rename(log, target) == 0 else { throw error }
            return
        }
        guard Glibc.rename(temporary, target) == 0 else { throw SystemError("rename " + temporary) }
    }

    private static func copy(_ source: String, to target: String) throws(SystemError) {
        let from = try FileDescriptor.open(source, O_RDONLY | O_NOFOLLOW)
        let file = try FileDescriptor.open(target, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
        while let bytes = try from.read(upTo: chunk), !bytes.isEmpty { try file.writeAll(bytes) }
        guard fsync(file.raw) == 0 else { throw SystemError("fsync " + target) }
    }
}
