extension WriteAheadLog {
    /// What the committed transactions of a WAL contain, without the database that they belong to.
    package struct Contents: Sendable {
        /// The first page of the database, with its header; nil when no transaction wrote it.
        package let firstPage: [UInt8]?
        /// Whether every page of the database is there.
        package let isWhole: Bool
    }

    /// Reads a WAL whose database is missing or empty. SQLite considers such a WAL a leftover and deletes it unread.
    ///
    /// - Parameters:
    ///   - database: the path of the database; it must exist, even if empty.
    ///   - vfs: the name of its VFS; nil: the default.
    /// - Returns: nil when no transaction in it was ever committed.
    package static func contents(database: String, vfs: String? = nil) throws(SQLiteError) -> Contents? {
        let file = try LogFile.open(database + "-wal", vfs: vfs)
        guard let committed = try file.committed() else { return nil }
        var firstPage: [UInt8]?
        if let offset = committed.frames[1] {
            firstPage = try file.read(committed.pageSize, at: offset + Int64(LogFile.frameHeaderSize))
        }
        let isWhole = committed.frames.keys.count { 1...committed.size ~= $0 } == Int(committed.size)
        return Contents(firstPage: firstPage, isWhole: isWhole)
    }

    /// Bytes before the first frame.
    package static let headerSize = LogFile.headerSize

    /// Whether SQLite takes these bytes, the first of a WAL, for its header. If it does not, it reads none of the
    /// frames behind them, without a word, and writes over them.
    package static func isHeader(_ bytes: [UInt8]) -> Bool {
        bytes.count == headerSize && Checksum(bytes) != nil
    }

    /// SQLite's running checksum over the header and every frame: where it breaks, the WAL ends.
    struct Checksum {
        private let isBigEndian: Bool
        private var sum: (UInt32, UInt32) = (0, 0)

        /// - Returns: nil when these are not the first bytes of a WAL.
        init?(_ header: [UInt8]) {
            let magic = LogFile.number(header, 0)
            guard magic & ~1 == 0x377F_0682 else { return nil }
            isBigEndian = magic & 1 == 1
            add(header[..<24])
            guard sum == (LogFile.number(header, 24), LogFile.number(header, 28)) else { return nil }
        }

        /// Covers the first eight bytes of a frame's header, and its page.
        mutating func accepts(_ frame: [UInt8]) -> Bool {
            add(frame[..<8])
            add(frame[LogFile.frameHeaderSize...])
            return sum == (LogFile.number(frame, 16), LogFile.number(frame, 20))
        }

        private mutating func add(_ bytes: ArraySlice<UInt8>) {
            for index in stride(from: bytes.startIndex, to: bytes.endIndex - 7, by: 8) {
                sum.0 &+= word(bytes, index) &+ sum.1
                sum.1 &+= word(bytes, index + 4) &+ sum.0
            }
        }

        private func word(_ bytes: ArraySlice<UInt8>, _ index: Int) -> UInt32 {
            let word = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[index + $1]) }
            return isBigEndian ? word : word.byteSwapped
        }
    }
}
