internal import Glibc

/// A directory that holds small files, each replaced as a whole: after a power cut either the old or the new content is
/// there, never a mixture and never nothing.
///
/// The sequence write to a temporary file, fsync, rename, fsync of the directory is the one that survives a cut at any
/// point; without the first fsync a cut leaves an empty file, without the last one the old file may come back.
package struct StateDirectory: Sendable {
    /// Absolute, without symbolic links and without a trailing slash.
    package let path: String
    package let files: any Files
    private let owner: UInt32
    private let group: UInt32

    /// Makes the directory (0700) when it is missing.
    ///
    /// It may be reached through symbolic links, as on systems with a read-only root. They are resolved once, here:
    /// changing a link later does not move anything under a running daemon.
    ///
    /// - Parameter files: where it is, with all that is in it.
    /// - Throws: also when it is writable by its group or by others (EPERM): they could swap the files.
    package init(_ path: String, on files: any Files = SystemFiles()) throws(SystemError) {
        self.files = files
        self.path = try files.makeDirectory(path)
        let status = try files.open(self.path, .directory).status()
        guard !status.isOpenToOthers else {
            throw SystemError(
                "refusing " + self.path + ", which others may write to (chmod go-w)", code: EPERM)
        }
        (owner, group) = (status.owner, status.group)
    }

    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// - Returns: nil when there is no such file.
    /// - Throws: also when it belongs neither to us, nor to root, nor to the owner of the directory (EINVAL).
    package func read(_ name: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8]? {
        do throws(SystemError) {
            let bytes = try files.read(file(name), limit: limit)
            if let status = try files.status(file(name)), ![0, owner, geteuid()].contains(status.owner) {
                throw SystemError("read \(file(name)), which belongs to user \(status.owner)", code: EINVAL)
            }
            return bytes
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }

    /// Replaces the file durably; when this returns, a power cut cannot undo it.
    ///
    /// - Parameter movingOldAside: what was there is renamed first, as by `moveAside`, once the new one is written.
    package func replace(
        _ name: String, with bytes: [UInt8], movingOldAside: Bool = false
    ) throws(SystemError) {
        let temporary = file(name + ".tmp")
        // First, so that a want of descriptors or memory is found out before anything has changed.
        let directory = try files.open(path, .directory)
        let new = try files.open(temporary, [.write, .create, .truncate])
        // One run as root must not take the files away from the user that the service has.
        if geteuid() == 0 { try new.give(to: owner, group) }
        try new.write(bytes)
        try new.synchronise()
        let aside = movingOldAside ? try rename(aside: name) : nil
        do throws(SystemError) {
            try files.rename(temporary, to: file(name))
        } catch {
            // Without either of them the next start would find nothing.
            if let aside { try? files.rename(aside, to: file(name)) }
            throw error
        }
        // One for both: a disk that fails between them leaves the new one in its place.
        try directory.synchronise()
    }

    package func names() throws(SystemError) -> [String] { try files.names(in: path) }

    /// Renames what has this name, whatever it is, to `NAME.aside-N`, durably.
    ///
    /// - Returns: the new path.
    /// - Throws: also when 99 such names are taken (EEXIST).
    package func moveAside(_ name: String) throws(SystemError) -> String {
        let target = try rename(aside: name)
        try synchronise()
        return target
    }

    /// - Returns: the new path, also where there is nothing to rename.
    private func rename(aside name: String) throws(SystemError) -> String {
        for number in 1...99 {
            let target = file("\(name).aside-\(number)")
            guard try !files.exists(target) else { continue }
            do throws(SystemError) {
                try files.rename(file(name), to: target)
            } catch {
                if error.code == ENOENT { return target }
                throw error
            }
            return target
        }
        throw SystemError("rename " + file(name), code: EEXIST)
    }

    /// Removes a file; a missing one is not an error. Durable after the next `synchronise`.
    package func remove(_ name: String) throws(SystemError) {
        do throws(SystemError) {
            try files.remove(file(name))
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    /// fsync of the directory itself: makes renames, new files and removals durable.
    package func synchronise() throws(SystemError) {
        try files.synchronise(path)
    }

    /// Takes the lock that keeps a second instance out, for as long as what it returns lives. A file that is there will
    /// do as it is: a kernel that distrusts a file system mounts it read-only.
    ///
    /// - Throws: EWOULDBLOCK when another process holds it.
    package func lock() throws(SystemError) -> any OpenedFile {
        let opened = try openLock()
        try opened.lock()
        return opened
    }

    private func openLock() throws(SystemError) -> any OpenedFile {
        do throws(SystemError) {
            return try files.open(file("lock"), [.readWrite, .create])
        } catch {
            guard error.code == EROFS else { throw error }
            return try files.open(file("lock"), [])
        }
    }
}
