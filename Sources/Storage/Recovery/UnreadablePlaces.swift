internal import Linux

/// Places of a database and its log that the disk does not give. SQLite's check takes that for damage, but a disk that fails for a
/// while gives them again, and a database that were moved aside meanwhile would be salvaged from the same disk, of which as little
/// can be read.
struct UnreadablePlaces: Equatable {
    /// Bytes that are read at once: the smallest that a disk loses.
    private static let piece = 4096
    /// A disk that fails now and then refuses the same places twice by chance, where there are few, but not so often.
    private static let looks = 5
    /// SQLITE_IOERR_READ, SQLITE_NOMEM and SQLITE_IOERR_NOMEM.
    private static let codes = ["266", "7", "3082"]

    private var all: Set<Int> = []
    private var read = 0

    private init(of path: String, on files: any Files) throws(SystemError) {
        for (index, name) in [path, path + "-wal"].enumerated() {
            guard let size = try files.size(name) else { continue }
            let file = try files.open(name, [])
            for offset in stride(from: 0, to: size, by: Self.piece) {
                if (try? file.read(upTo: Self.piece, at: offset)) == nil {
                    all.insert(2 * offset + index)
                } else {
                    read += 1
                }
            }
        }
    }

    /// Whether some places cannot be read, and others can.
    private var isSome: Bool { !all.isEmpty && read > 0 }

    /// Whether the verdict of a check is about reading, and the disk itself is to blame: it gives everything now, or nothing,
    /// or now this and then that. A place that it refuses each time, among others that it gives, is damage.
    static func isDiskToBlame(
        for verdict: String, of path: String, on files: any Files
    ) throws(SystemError) -> Bool {
        guard isAboutReading(verdict) else { return false }
        let first = try UnreadablePlaces(of: path, on: files)
        guard first.isSome else { return true }
        for _ in 1..<looks where try UnreadablePlaces(of: path, on: files) != first { return true }
        return false
    }

    /// In the words of SQLite 3.40 to 3.51.
    private static func isAboutReading(_ verdict: String) -> Bool {
        // Of a list of pages, or of a long value: reading has failed, whatever it was.
        if verdict.contains("failed to get page ") { return true }
        let words = verdict.split(separator: "=")
        guard words.count > 1, verdict.contains("unable to get the page. error code=") else { return false }
        return words.dropFirst().contains { word in codes.contains(String(word.prefix { $0.isNumber })) }
    }
}
