internal import Linux

/// A page that the disk does not give. SQLite's check takes that for damage, but a disk that fails for a while gives it again,
/// and a database that were put aside meanwhile would be salvaged from the same disk, of which as little can be read.
extension Quarantine {
    /// Bytes that are read at once: the smallest that a disk loses.
    private static let piece = 4096
    /// A disk that fails now and then refuses the same places twice by chance, where there are few, but not so often.
    private static let looks = 5
    /// SQLITE_IOERR_READ, SQLITE_NOMEM and SQLITE_IOERR_NOMEM.
    private static let codes = ["266", "7", "3082"]

    /// Whether the verdict of a check is about reading, and the disk itself is to blame: it gives everything now, or nothing,
    /// or now this and then that. A place that it refuses each time, among others that it gives, is damage.
    func isOfDisk(_ verdict: String, at path: String) throws(StorageError) -> Bool {
        guard Self.isAboutReading(verdict) else { return false }
        do {
            let first = try unreadable(path)
            guard first.isSome else { return true }
            for _ in 1..<Self.looks where try unreadable(path) != first { return true }
            return false
        } catch {
            throw StorageError(error)
        }
    }

    /// In the words of SQLite 3.40 to 3.51.
    private static func isAboutReading(_ verdict: String) -> Bool {
        // Of a list of pages, or of a long value: reading has failed, whatever it was.
        if verdict.contains("failed to get page ") { return true }
        let words = verdict.split(separator: "=")
        guard words.count > 1, verdict.contains("unable to get the page. error code=") else { return false }
        return words.dropFirst().contains { word in codes.contains(String(word.prefix { $0.isNumber })) }
    }

    /// Places of a database and its log that cannot be read.
    private struct Places: Equatable {
        var all: Set<Int> = []
        var read = 0

        /// Some, and not all.
        var isSome: Bool { !all.isEmpty && read > 0 }
    }

    private func unreadable(_ path: String) throws(SystemError) -> Places {
        var places = Places()
        for (index, name) in [path, path + "-wal"].enumerated() {
            guard let size = try files.size(name) else { continue }
            let file = try files.open(name, [])
            for offset in stride(from: 0, to: size, by: Self.piece) {
                if (try? file.read(upTo: Self.piece, at: offset)) == nil {
                    places.all.insert(2 * offset + index)
                } else {
                    places.read += 1
                }
            }
        }
        return places
    }
}
