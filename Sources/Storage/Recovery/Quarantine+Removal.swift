internal import Glibc
internal import Linux

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
