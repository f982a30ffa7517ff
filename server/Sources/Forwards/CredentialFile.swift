internal import Glibc

/// A password or a token, in the first line of a file.
package enum CredentialFile {
    /// Bytes of a token.
    private static let longestToken = 8192

    package struct Invalid: Error, Equatable {
        package let reason: String
    }

    /// - Parameter longest: bytes; nil: those of a token.
    /// - Throws: why there is none, with the path.
    package static func read(_ path: String, longest: Int? = nil) throws(Invalid) -> String {
        let longest = longest ?? longestToken
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Invalid(reason: "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        defer { close(descriptor) }
        var room = [UInt8](repeating: 0, count: longest + 2)
        let count = Glibc.read(descriptor, &room, room.count)
        // Its first line, as editors end it.
        let line = room[..<max(0, count)].prefix { $0 != 10 && $0 != 13 }
        guard !line.isEmpty, line.count <= longest, !line.contains(0),
            let text = String(validating: line, as: UTF8.self)
        else { throw Invalid(reason: "there is nothing in the first line of \(path)") }
        return text
    }
}
