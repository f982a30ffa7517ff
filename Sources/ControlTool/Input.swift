internal import Glibc

/// A file named by the user, or standard input.
package enum Input {
    /// Reads everything.
    ///
    /// - Parameters:
    ///   - path: `-` for standard input.
    ///   - limit: maximum size in bytes.
    /// - Throws: a `Failure` when it cannot be read or is too long.
    package static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure("cannot read \(path): \(String(cString: strerror(errno)))", exitCode: 66)
        }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw Failure("cannot read \(path): \(String(cString: strerror(errno)))", exitCode: 66)
            }
            bytes += piece[..<count]
            guard bytes.count <= limit else {
                throw Failure("\(path) has more than \(limit) bytes: give it in parts", exitCode: 65)
            }
        }
    }
}
