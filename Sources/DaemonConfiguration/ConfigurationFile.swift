import Glibc

/// A file as it was when it was opened.
struct ConfigurationFile {
    static let maxBytes = 1 << 20

    let path: String
    let text: String
    /// Who may read or change the file besides us.
    let exposure: Exposure?

    /// Reads a configuration file.
    /// - Returns: nil when there is none.
    /// - Throws: why it cannot be read, in words.
    static func read(_ path: String) throws(ConfigurationError) -> ConfigurationFile? {
        func refuse(_ message: String, line: Int = 0) -> ConfigurationError {
            ConfigurationError([.init(file: path, line: line, message: message)])
        }
        guard !path.utf8.contains(0) else { throw refuse("a path cannot contain NUL") }
        // Non-blocking: opening a named pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            let code = errno
            if code == ENOENT { return nil }
            let hint = code == EACCES ? "; it must be readable by the user or group beekond runs as" : ""
            throw refuse("cannot be opened: \(String(cString: strerror(code)))\(hint)")
        }
        defer { _ = close(descriptor) }
        let content: (bytes: [UInt8], exposure: Exposure?)
        do { content = try OpenFile.readAll(descriptor, limit: maxBytes) } catch {
            throw refuse(error.message)
        }
        guard let text = String(validating: content.bytes, as: UTF8.self) else {
            let line = content.bytes.prefix(OpenFile.validPrefix(content.bytes)).count { $0 == 10 } + 1
            throw refuse("not a text in UTF-8; write the file again with an editor", line: line)
        }
        return ConfigurationFile(path: path, text: text, exposure: content.exposure)
    }

    /// Paths of `*.toml` in `folder` in name order, hidden ones left out; empty when there is no such folder.
    static func dropIns(_ folder: String) throws(ConfigurationError) -> [String] {
        guard let directory = opendir(folder) else {
            let code = errno
            if code == ENOENT { return [] }
            let reason = String(cString: strerror(code))
            throw ConfigurationError([.init(file: folder, message: "cannot be listed: \(reason)")])
        }
        defer { _ = closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".toml"), !name.hasPrefix(".") { names.append(name) }
        }
        guard names.count <= 256 else {
            throw ConfigurationError([.init(file: folder, message: "more than 256 drop-in files; merge some")]
            )
        }
        return names.sorted().map { "\(folder)/\($0)" }
    }
}

/// Reading from descriptors that may turn out to be anything.
enum OpenFile {
    struct Refusal: Error { let message: String }

    /// Everything a regular file holds.
    static func readAll(
        _ descriptor: Int32, limit: Int
    ) throws(Refusal) -> (bytes: [UInt8], exposure: Exposure?) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Refusal(message: "is not a regular file; name the file itself")
        }
        // One byte more than allowed is asked for: the size may change while it is read.
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw Refusal(message: "cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= limit else {
            throw Refusal(message: "is larger than \(limit) bytes; is it the right file?")
        }
        let exposure = Exposure(mode: status.st_mode, group: status.st_gid, ours: Exposure.ownGroups())
        return (Array(bytes.prefix(filled)), exposure)
    }

    /// How many bytes of the beginning are UTF-8.
    static func validPrefix(_ bytes: [UInt8]) -> Int {
        var low = 0
        var iterator = bytes.makeIterator()
        var decoder = UTF8()
        while case .scalarValue(let scalar) = decoder.decode(&iterator) { low += UTF8.width(scalar) }
        return low
    }
}
