internal import Glibc
internal import Linux

/// What a deletion does with databases that were put aside.
extension Quarantine {
    /// Names of the databases in the directory that were put aside, with their companions.
    static func asideNames(of path: String) -> [String] {
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
        let name = path.split(separator: "/").last.map(String.init) ?? path
        // Not what an operator has put beside it.
        return names(in: directory).filter {
            $0.hasPrefix(name + ".corrupt-") || $0.hasPrefix(Store.foreignPrefix)
        }
    }

    /// Removes them.
    static func removeAside(of path: String) throws(StorageError) {
        let directory = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        // The database last: companions without one mean that it is being put aside.
        for name in asideNames(of: path).reversed() where unlink(directory + "/" + name) != 0 {
            // A folder of that name is not a database of ours.
            if errno != ENOENT, errno != EISDIR, errno != EPERM {
                throw StorageError(SystemError("remove \(directory)/\(name)"))
            }
        }
        do {
            // The record of the deletion is removed next: a power cut must not bring the names back after that.
            try StateDirectory.synchronise(String(directory))
        } catch {
            throw StorageError(error)
        }
    }
}
