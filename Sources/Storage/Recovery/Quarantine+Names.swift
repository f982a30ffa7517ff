internal import Glibc
internal import Linux

/// The names of damaged databases, as a kill or a power cut at any moment leaves them:
///
/// - `.corrupt-TIME.unread`: moved aside, and not yet salvaged, or not to the end.
/// - `.corrupt-TIME`: salvaged as far as it could be read.
/// - `.corrupt-TIME.salvaged`: all that it held has been imported.
///
/// The companions are renamed first and the database last: so its name shows which renaming was interrupted.
extension Quarantine {
    /// Files that are kept at most, as long as what they held has been saved.
    private static let limit = 2
    static let salvagedSuffix = ".salvaged"
    static let unreadSuffix = ".unread"

    /// Renames the database with its companions.
    ///
    /// - Returns: the path that it will have in the end, without `unreadSuffix`.
    func moveAside(_ path: String) throws(StorageError) -> String {
        let base = path + ".corrupt-\(files.time())"
        var target = base
        var number = 1
        while try isTaken(target) {
            number += 1
            target = base + "-\(number)"
        }
        try move(path, to: target + Self.unreadSuffix)
        return target
    }

    /// Completes the renaming of a database that is being moved aside.
    ///
    /// - Returns: the databases that were moved aside and not salvaged to the end, without their suffix.
    func unread(_ path: String) throws(StorageError) -> [String] {
        let directory = Self.directory(of: path)
        let prefix = path.dropFirst(directory.count + 1) + ".corrupt-"
        let names = try names(in: directory).filter { $0.hasPrefix(prefix) }
        let found = Set(names.compactMap { name in Self.base(of: name).map { directory + "/" + $0 } })
        var unread: [String] = []
        for base in found.sorted() {
            if try !exists(base + Self.unreadSuffix) {
                try move(path, to: base + Self.unreadSuffix)
            } else if let target = try companioned(Self.targets(of: base)) {
                // Salvaged again, so that it is reported: nothing is imported twice.
                try moveCompanions(target, to: base + Self.unreadSuffix)
            }
            unread.append(base)
        }
        return unread
    }

    /// Gives a salvaged database its final name, and deletes the oldest of those that were saved completely when there are
    /// too many.
    ///
    /// - Returns: the name, and the paths of those that were deleted.
    func close(
        _ base: String, isSalvaged: Bool
    ) throws(StorageError) -> (name: String, removed: [String]) {
        let target = isSalvaged ? base + Self.salvagedSuffix : base
        // A database is salvaged once: what the user deletes afterwards must not come back.
        try move(base + Self.unreadSuffix, to: target)
        guard isSalvaged else { return (target, []) }
        let directory = Self.directory(of: base)
        let spent = try names(in: directory).filter {
            $0.contains(".corrupt-") && $0.hasSuffix(Self.salvagedSuffix)
        }
        var removed: [String] = []
        for name in spent.dropLast(Self.limit) {
            for suffix in Self.suffixes.reversed() { try? files.remove(directory + "/" + name + suffix) }
            removed.append(directory + "/" + name)
        }
        return (target, removed)
    }

    /// Names of the databases in this directory that were moved aside and not all read: what is left in them is nowhere else.
    func unsavedNames(of path: String) -> [String] {
        let prefix = path.dropFirst(Self.directory(of: path).count + 1) + ".corrupt-"
        return ((try? names(in: Self.directory(of: path))) ?? []).filter { name in
            name.hasPrefix(prefix) && !name.hasSuffix(Self.salvagedSuffix)
                && !Self.suffixes.contains { !$0.isEmpty && name.hasSuffix($0) }
        }
    }

    /// `beekon.db.corrupt-1` for `beekon.db.corrupt-1.unread-wal`.
    private static func base(of name: String) -> String? {
        for suffix in suffixes where name.hasSuffix(unreadSuffix + suffix) {
            return String(name.dropLast(unreadSuffix.count + suffix.count))
        }
        return nil
    }

    /// The names that one may get in the end.
    private static func targets(of base: String) -> [String] { [base, base + salvagedSuffix] }

    private func isTaken(_ base: String) throws(StorageError) -> Bool {
        let names = Self.targets(of: base) + [base + Self.unreadSuffix]
        for name in names where try exists(name) { return true }
        return try companioned(names) != nil
    }

    /// The first that has a companion.
    private func companioned(_ paths: [String]) throws(StorageError) -> String? {
        for path in paths {
            for suffix in Self.suffixes where !suffix.isEmpty {
                if try exists(path + suffix) { return path }
            }
        }
        return nil
    }

    /// Renames a database with its companions, durably. Completes an earlier call that was interrupted.
    private func move(_ path: String, to target: String) throws(StorageError) {
        try moveCompanions(path, to: target)
        try moveOne(path, to: target)
        do {
            // Companions without a database: its name shows that they are complete.
            if try !files.exists(target) { _ = try files.open(target, [.write, .create]) }
            try files.synchronise(Self.directory(of: target))
        } catch {
            throw StorageError(error)
        }
    }

    private func moveCompanions(_ path: String, to target: String) throws(StorageError) {
        for suffix in Self.suffixes.reversed() where !suffix.isEmpty {
            try moveOne(path + suffix, to: target + suffix)
        }
    }

    private func moveOne(_ path: String, to target: String) throws(StorageError) {
        // It may have been moved already; opening the database since has left an empty one in its place.
        guard try exists(path), try !exists(target) else { return }
        do {
            try files.rename(path, to: target)
        } catch {
            throw StorageError(error)
        }
    }

    static func directory(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }

    /// In ascending order, which for these names is that of their age.
    func names(in directory: String) throws(StorageError) -> [String] {
        do { return try files.names(in: directory) } catch { throw StorageError(error) }
    }
}

/// What a deletion does with databases that were moved aside.
extension Quarantine {
    /// Names of the databases in the directory that were moved aside, with their companions.
    func asideNames(of path: String) throws(StorageError) -> [String] {
        let directory = Self.directory(of: path)
        let name = path.split(separator: "/").last.map(String.init) ?? path
        // Not what an operator has put beside it.
        return try names(in: directory).filter {
            $0.hasPrefix(name + ".corrupt-") || $0.hasPrefix(DatabaseFiles.foreignPrefix)
        }
    }

    /// Removes them.
    func removeAside(of path: String) throws(StorageError) {
        let directory = Self.directory(of: path)
        // The database last: companions without one mean that it is being moved aside.
        for name in try asideNames(of: path).reversed() {
            do throws(SystemError) {
                try files.remove(directory + "/" + name)
            } catch {
                // A folder of that name is not a database of ours.
                guard [ENOENT, EISDIR, EPERM].contains(error.code) else { throw StorageError(error) }
            }
        }
        do {
            // The record of the deletion is removed next: a power cut must not bring the names back after that.
            try files.synchronise(directory)
        } catch {
            throw StorageError(error)
        }
    }
}
