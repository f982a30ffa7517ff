internal import CSQLite

/// The pages of a database that nobody has open and that may be damaged anywhere, one by one: as the transactions in its WAL
/// left them, or as they stand in the file. Nothing is written.
package final class DamagedFile {
    /// Bytes of a page.
    package let pageSize: Int
    /// Bytes of a page that SQLite uses.
    package let usableSize: Int
    /// Pages are numbered from 1 to this.
    package let pageCount: Int
    /// What that was before the file lost its end.
    package let formerCount: Int
    /// The first bytes of the first page; nil when they are not those of a database.
    package let header: [UInt8]?

    private let file: Part
    private let log: Part?
    /// Where the newest frame of each page begins in the WAL.
    private let frames: [UInt32: Int64]

    /// Bytes at the beginning that are looked at to tell the size of pages.
    private static let sample: Int64 = 1 << 20

    /// The file, or its WAL, neither of which can be copied.
    private final class Part {
        private let file: LogFile

        init(_ file: consuming LogFile) {
            self.file = file
        }

        var size: Int64 { (try? file.size()) ?? 0 }
        var committed: LogFile.Committed? { (try? file.committed()) ?? nil }

        /// nil when it ends too early, or the disk does not give it.
        func read(_ count: Int, at offset: Int64) -> [UInt8]? { (try? file.read(count, at: offset)) ?? nil }

        /// A page in the WAL.
        func frame(_ count: Int, at offset: Int64) -> [UInt8]? {
            read(count, at: offset + Int64(LogFile.frameHeaderSize))
        }
    }

    /// Reads the header and the WAL.
    ///
    /// - Parameters:
    ///   - database: its path; it must exist.
    ///   - usual: bytes of a page, where several are equally likely.
    ///   - vfs: the name of its VFS; nil: the default.
    package init(database: String, usual: Int, vfs: String? = nil) throws(SQLiteError) {
        let file = Part(try LogFile.open(database, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB, vfs: vfs))
        let log: Part?
        do throws(SQLiteError) { log = Part(try LogFile.open(database + "-wal", vfs: vfs)) } catch {
            log = nil
        }
        let committed = log?.committed
        let first = committed?.frames[1].map { log?.frame(100, at: $0) } ?? file.read(100, at: 0)
        header = first.flatMap { $0 }.flatMap { Self.isHeader($0) ? $0 : nil }
        let size =
            committed?.pageSize ?? header.flatMap { Self.pageSize($0) } ?? Self.likelySize(file, usual)
        pageSize = size
        usableSize = header.map { size - Int($0[20]) } ?? size
        pageCount = min(max(Int(file.size) / size, Int(committed?.size ?? 0)), Self.pageLimit)
        formerCount = max(pageCount, min(header.map { Self.number($0, 28) } ?? 0, Self.pageLimit))
        frames = committed?.frames ?? [:]
        self.file = file
        self.log = log
    }

    /// Far more than there ever are.
    private static let pageLimit = 1 << 22

    /// nil for one that is not there, or that the disk does not give.
    package func page(_ number: Int) -> [UInt8]? {
        guard (1...max(pageCount, 1)).contains(number) else { return nil }
        if let offset = frames[UInt32(number)] { return log?.frame(pageSize, at: offset) }
        return file.read(pageSize, at: Int64(number - 1) * Int64(pageSize))
    }

    private static let magic = Array("SQLite format 3\0".utf8)

    private static func isHeader(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 100 && bytes.starts(with: magic) && pageSize(bytes) != nil && bytes[20] < 128
    }

    private static func pageSize(_ header: [UInt8]) -> Int? {
        let size = Int(header[16]) << 8 | Int(header[17])
        if size == 1 { return 65536 }
        return (512...32768).contains(size) && size & (size - 1) == 0 ? size : nil
    }

    /// The size in which most pages make sense: of a size that is too large, only every other one is seen.
    private static func likelySize(_ file: Part, _ usual: Int) -> Int {
        var best = (size: usual, count: 0)
        for size in [usual, 1024, 4096, 2048, 512, 8192, 16384, 32768] {
            let pages = Int(min(file.size, sample) / Int64(size))
            var count = 0
            for number in stride(from: 2, through: pages, by: 1) {
                guard let page = file.read(size, at: Int64(number - 1) * Int64(size)) else { continue }
                if TreePage(page, number: number, usableSize: size, pageCount: pageLimit) != nil {
                    count += 1
                }
            }
            if count > best.count { best = (size, count) }
        }
        return best.size
    }

    // MARK: Pages that are not in use

    /// The free pages, which still hold what was deleted. Found by their list, or, where that is damaged, by what a part of
    /// one looks like.
    ///
    /// - Parameter isOther: whether a page is no part of a tree.
    package func freePages(isOther: (Int) -> Bool) -> Set<Int> {
        var free: Set<Int> = []
        if let header {
            var (next, isWhole) = (Self.number(header, 32), true)
            while next != 0, isWhole {
                guard !free.contains(next), let part = freeList(next) else {
                    isWhole = false
                    continue
                }
                free.insert(next)
                free.formUnion(part.pages)
                next = part.next
            }
            if isWhole { return free }
        }
        for number in stride(from: 2, through: pageCount, by: 1) where isOther(number) {
            guard let part = freeList(number), !part.pages.isEmpty else { continue }
            free.insert(number)
            free.formUnion(part.pages)
        }
        return free
    }

    /// A page of the list of free pages: the next one, a number, and so many pages.
    private func freeList(_ number: Int) -> (next: Int, pages: [Int])? {
        guard number > 1, let bytes = page(number) else { return nil }
        let (next, count) = (Self.number(bytes, 0), Self.number(bytes, 4))
        guard next <= pageCount, count <= usableSize / 4 - 2 else { return nil }
        let pages = (0..<count).map { Self.number(bytes, 8 + 4 * $0) }
        guard pages.allSatisfy({ (2...max(pageCount, 2)).contains($0) }), Set(pages).count == count else {
            return nil
        }
        return (next, pages)
    }

    /// The tree page of this number; nil when it is none, or not all of one.
    package func treePage(_ number: Int) -> TreePage? {
        page(number).flatMap {
            TreePage($0, number: number, usableSize: usableSize, pageCount: formerCount)
        }
    }

    /// Big-endian, as in all of SQLite's file formats.
    package static func number(_ bytes: [UInt8], _ offset: Int) -> Int { Int(LogFile.number(bytes, offset)) }
}

extension LogFile {
    /// What the committed transactions of a WAL have written.
    struct Committed {
        /// Where the newest frame of each page begins.
        var frames: [UInt32: Int64]
        /// Pages of the database.
        var size: UInt32
        var pageSize: Int
    }

    func size() throws(SQLiteError) -> Int64 {
        var size: Int64 = 0
        try Self.check(file.pointee.pMethods.pointee.xFileSize?(file, &size) ?? SQLITE_MISUSE, "file size")
        return size
    }

    /// nil when no transaction in it was ever committed.
    func committed() throws(SQLiteError) -> Committed? {
        guard let header = try read(Self.headerSize, at: 0), var sum = WriteAheadLog.Checksum(header) else {
            return nil
        }
        let pageSize = Int(Self.number(header, 8))
        guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return nil }
        var offset = Int64(Self.headerSize)
        var (frames, uncommitted): ([UInt32: Int64], [UInt32: Int64]) = ([:], [:])
        var size: UInt32 = 0
        while let frame = try read(Self.frameHeaderSize + pageSize, at: offset),
            frame[8..<16] == header[16..<24], sum.accepts(frame)
        {
            uncommitted[Self.number(frame, 0)] = offset
            offset += Int64(frame.count)
            // A frame that commits a transaction carries the size of the database.
            guard Self.number(frame, 4) != 0 else { continue }
            size = Self.number(frame, 4)
            frames.merge(uncommitted) { $1 }
            uncommitted = [:]
        }
        return size > 0 ? Committed(frames: frames, size: size, pageSize: pageSize) : nil
    }
}
