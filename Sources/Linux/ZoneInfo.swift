internal import Glibc

/// The files of the system's tz database (package tzdata). What they mean is not known here.
package struct ZoneInfo: Sendable {
    /// Bytes; the largest of them has 4 KB.
    private static let limit = 65_536

    private let folder: String
    private let systemFile: String

    /// - Parameters:
    ///   - folder: where the files are.
    ///   - systemFile: that of the system's own zone.
    package init(folder: String = "/usr/share/zoneinfo", systemFile: String = "/etc/localtime") {
        self.folder = folder
        self.systemFile = systemFile
    }

    /// The content of a zone's file.
    ///
    /// - Parameter name: such as `Europe/Berlin`.
    /// - Throws: EINVAL if this is no name of a zone, ENOENT if there is none of this name.
    package func content(of name: String) throws(SystemError) -> [UInt8] {
        guard Self.isName(name) else {
            throw SystemError("read time zone '\(name.prefix(80))'", code: EINVAL)
        }
        return try readFile(folder + "/" + name, limit: Self.limit)
    }

    /// The content of the file of the system's own zone; nil without one, which means UTC (localtime(5)).
    package func systemContent() throws(SystemError) -> [UInt8]? {
        do {
            return try readFile(systemFile, limit: Self.limit)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
    }

    /// Whether it can be the name of a zone: parts of letters, digits, `_`, `+` and `-`, so that it leads nowhere else.
    package static func isName(_ name: String) -> Bool {
        guard (1...128).contains(name.utf8.count) else { return false }
        return name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { part in
                part.first.map(isLetter) == true
                    && part.allSatisfy {
                        isLetter($0) || (0x30...0x39).contains($0) || "_+-".utf8.contains($0)
                    }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
