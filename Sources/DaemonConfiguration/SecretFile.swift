import Glibc

/// A secret kept in a file of its own.
enum SecretFile {
    static let maxBytes = 1 << 16

    /// The content of the file a configuration file names, without one trailing newline.
    ///
    /// A relative name is looked for among the credentials first, then in the configuration directory `folder`. Who may
    /// read a credential is systemd's business.
    /// - Throws: why it is refused, in words, without any of the content.
    static func read(
        _ name: String, home folder: String, places: SecretPlaces
    ) throws(OpenFile.Refusal) -> (text: String, exposure: Exposure?) {
        let home = resolved(folder)
        guard places.configurationRoots.contains(where: { home == $0 || home.hasPrefix($0 + "/") }) else {
            let roots = places.configurationRoots.joined(separator: ", ")
            throw OpenFile.Refusal(
                message: "secret files can be named only in configuration files under \(roots)")
        }
        let folders = [places.credentialsDirectory, home].compactMap { $0 }
        let candidates = folders.compactMap { folder in
            relative(name, to: folder).map { (folder: folder, parts: $0) }
        }
        guard !candidates.isEmpty else {
            throw OpenFile.Refusal(
                message:
                    "a secret file must be in \(folders.joined(separator: " or ")), without “..” in its path")
        }
        for (index, candidate) in candidates.enumerated() {
            let descriptor = open(candidate.parts, in: candidate.folder)
            if descriptor < 0 {
                let code = errno
                if code == ENOENT, index < candidates.count - 1 { continue }
                let isLink = code == ELOOP || code == ENOTDIR
                let reason = isLink ? "symbolic links are not followed" : String(cString: strerror(code))
                throw OpenFile.Refusal(message: "the secret file cannot be opened: \(reason)")
            }
            defer { _ = close(descriptor) }
            let (text, exposure) = try text(descriptor)
            return (text, candidate.folder == places.credentialsDirectory ? nil : exposure)
        }
        return ("", nil)
    }

    private static func text(
        _ descriptor: Int32
    ) throws(OpenFile.Refusal) -> (text: String, exposure: Exposure?) {
        do throws(OpenFile.Refusal) {
            var (bytes, exposure) = try OpenFile.readAll(descriptor, limit: maxBytes)
            if bytes.last == 10 { bytes.removeLast() }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw OpenFile.Refusal(message: "is not a text in UTF-8")
            }
            return (text, exposure)
        } catch { throw OpenFile.Refusal(message: "the secret file " + error.message) }
    }

    static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// The folder without links or “..”, so that its place can be judged.
    private static func resolved(_ folder: String) -> String {
        guard let path = realpath(folder, nil) else { return folder }
        defer { free(path) }
        return String(cString: path)
    }

    /// The names that lead from `folder` to `name`; nil when they would lead out of it.
    private static func relative(_ name: String, to folder: String) -> [String]? {
        var inside = name[...]
        if name.hasPrefix("/") {
            guard name.hasPrefix(folder + "/") else { return nil }
            inside = name.dropFirst(folder.count + 1)
        }
        let parts = inside.split(separator: "/", omittingEmptySubsequences: false)
        guard !name.utf8.contains(0), parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else { return nil }
        return parts.map(String.init)
    }

    /// Opens name by name, so that no part of the way can be a symbolic link.
    private static func open(_ parts: [String], in folder: String) -> Int32 {
        var directory = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        for (index, part) in parts.enumerated() where directory >= 0 {
            let isLast = index == parts.count - 1
            let kind = isLast ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_RDONLY | O_DIRECTORY
            let next = openat(directory, part, kind | O_NOFOLLOW | O_CLOEXEC)
            let code = errno
            _ = close(directory)
            errno = code
            directory = next
        }
        return directory
    }
}
