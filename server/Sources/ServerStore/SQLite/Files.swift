internal import Glibc

/// What a restore does with files.
enum Files {
    static func error(_ kind: StoreError.Kind, _ action: String, _ path: String, _ reason: String)
        -> StoreError
    {
        StoreError(kind, operation: "\(action) \(path)", message: "\(path): \(reason)")
    }

    /// The error of the call that has just failed.
    static func error(_ action: String, _ path: String) -> StoreError {
        error(.failed, action, path, String(cString: strerror(errno)))
    }

    /// Replaces nothing.
    static func rename(_ path: String, _ name: String) throws(StoreError) {
        guard FileIdentity(name) == nil else { throw error(.conflict, "rename", name, "it exists already") }
        guard Glibc.rename(path, name) == 0 else { throw error("rename", path) }
    }

    /// A second name, or a copy where the file system knows no second names.
    static func link(_ path: String, _ name: String) throws(StoreError) {
        guard Glibc.link(path, name) != 0 else { return }
        try copy(path, name)
        try sync(name)
    }

    /// Waits until the disk has it: a file, or the names in a folder.
    static func sync(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw error("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw error("sync", path) }
    }

    /// For its owner alone. What is only begun is removed.
    static func copy(_ path: String, _ name: String) throws(StoreError) {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw error("open", path) }
        defer { close(source) }
        let target = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard target >= 0 else { throw error("make", name) }
        defer { close(target) }
        var room = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &room, room.count)
            if count == 0 { return }
            guard count > 0, write(target, room, count) == count else {
                let failure = error("copy", path)
                unlink(name)
                throw failure
            }
        }
    }

    static func names(in folder: String) throws(StoreError) -> [String] {
        guard let directory = opendir(folder) else { throw error("look into", folder) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }
}
