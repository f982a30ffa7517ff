internal import ControlTool
internal import FoundationEssentials
internal import Glibc
internal import Linux

/// A file of the configuration, replaced as a whole: after a power cut there is the old one or the new one.
struct DurableFile {
    /// The folder that it is in, made where it is missing.
    let folder: String
    let name: String

    var path: String { folder + "/" + name }
    var exists: Bool { access(path, F_OK) == 0 }

    /// - Parameters:
    ///   - mode: its rights.
    ///   - group: who may read it besides its owner; nil: this process's.
    /// - Throws: a `Failure` that names what could not be done.
    func replace(with text: String, mode: mode_t, group: gid_t?) throws(Failure) {
        if mkdir(folder, 0o755) != 0, errno != EEXIST { throw failure("make \(folder)") }
        let temporary = path + ".tmp"
        // Whatever has that name is none of ours any more, a link least of all.
        _ = unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("write \(temporary)") }
        defer { close(descriptor) }
        if let group, fchown(descriptor, uid_t.max, group) != 0 {
            throw failure("give \(temporary) to its group")
        }
        guard fchmod(descriptor, mode) == 0 else { throw failure("set the mode of \(temporary)") }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw failure("write \(temporary)") }
            rest = rest.dropFirst(max(count, 0))
        }
        guard fsync(descriptor) == 0 else { throw failure("write \(temporary)") }
        try rename(from: temporary, to: path)
    }

    /// What it was before it was replaced.
    var before: DurableFile { DurableFile(folder: folder, name: name + ".before") }

    /// Renames it to `NAME.before`; a file of that name is gone then.
    func moveAside() throws(Failure) {
        try rename(from: path, to: before.path)
    }

    /// Has it as `NAME.before`, too, whatever becomes of it; a file of that name is gone then.
    func keepBefore() throws(Failure) {
        guard unlink(before.path) == 0 || errno == ENOENT else { throw failure("remove \(before.path)") }
        guard link(path, before.path) == 0 else { throw failure("keep \(path)") }
        try synchroniseFolder()
    }

    /// Whether the file says this.
    func holds(_ text: String) -> Bool {
        (try? String(contentsOfFile: path, encoding: .utf8)) == text
    }

    private func rename(from old: String, to new: String) throws(Failure) {
        guard Glibc.rename(old, new) == 0 else { throw failure("rename \(old)") }
        try synchroniseFolder()
    }

    private func synchroniseFolder() throws(Failure) {
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw failure("open \(folder)") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw failure("write \(folder)") }
    }

    private func failure(_ deed: String) -> Failure {
        let code = errno
        return Failure(
            "cannot \(deed): \(String(cString: strerror(code)))"
                + (code == EACCES || code == EPERM ? " (try with sudo)" : ""),
            exitCode: code == EACCES || code == EPERM ? 77 : 74)
    }
}
