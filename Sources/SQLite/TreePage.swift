/// A page of a tree of rows or of an index, as SQLite's file format has them. Its cells are within it, whatever its bytes
/// are; what they hold may still be anything.
package struct TreePage {
    package enum Kind: UInt8, Sendable {
        case indexInterior = 2
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13

        package var isLeaf: Bool { self == .indexLeaf || self == .tableLeaf }
        /// Whether the page is of a table with rowids; else it is of an index, or of a table without them.
        package var hasRowids: Bool { self == .tableInterior || self == .tableLeaf }
        /// Interior pages of tables with rowids have none.
        package var hasRows: Bool { self != .tableInterior }
    }

    package let kind: Kind
    /// How many.
    package var cellCount: Int { cells.count }
    /// The pages below: one before each cell, and one behind the last.
    package let children: [Int]

    private let bytes: [UInt8]
    private let usableSize: Int
    /// Where the cells begin.
    private let cells: [Int]

    /// Bytes of a row that are read at most.
    private static let longestRow = 16 << 20

    /// - Parameters:
    ///   - number: of the page; the first has the header of the file before its own.
    ///   - pageCount: the highest number that a page may refer to.
    /// - Returns: nil for what is no such page, or not all of one.
    package init?(_ bytes: [UInt8], number: Int, usableSize: Int, pageCount: Int) {
        let header = number == 1 ? 100 : 0
        guard bytes.count >= usableSize, usableSize > header + 12, let kind = Kind(rawValue: bytes[header])
        else { return nil }
        func short(_ offset: Int) -> Int { Int(bytes[offset]) << 8 | Int(bytes[offset + 1]) }
        let count = short(header + 3)
        let first = header + (kind.isLeaf ? 8 : 12)
        let content = short(header + 5) == 0 ? 65536 : short(header + 5)
        guard first + 2 * count <= content, content <= usableSize else { return nil }
        let cells = (0..<count).map { short(first + 2 * $0) }
        guard cells.allSatisfy({ $0 >= content && $0 <= usableSize - 4 }) else { return nil }
        var children: [Int] = []
        if !kind.isLeaf {
            children = (cells + [header + 8]).map { DamagedFile.number(bytes, $0) }
            guard children.allSatisfy({ $0 > 1 && $0 <= pageCount && $0 != number }) else { return nil }
        }
        self.kind = kind
        self.children = children
        self.bytes = bytes
        self.usableSize = usableSize
        self.cells = cells
    }

    /// A row, or its key where there is no more.
    package struct Row {
        /// nil in a tree without them.
        package var rowid: Int64?
        package var values: [Value]
    }

    /// - Parameter file: where the rest of a long row is.
    /// - Returns: nil for one that is damaged.
    package func row(_ index: Int, in file: DamagedFile) -> Row? {
        guard kind.hasRows, cells.indices.contains(index) else { return nil }
        var place = cells[index] + (kind.isLeaf ? 0 : 4)
        let most = min(Self.longestRow, file.pageCount * usableSize)
        guard let size = varint(&place), (0...Int64(most)).contains(size) else { return nil }
        var rowid: Int64?
        if kind.hasRowids {
            guard let found = varint(&place) else { return nil }
            rowid = found
        }
        guard let payload = payload(Int(size), at: place, in: file),
            let values = RecordFormat.values(payload)
        else { return nil }
        return Row(rowid: rowid, values: values)
    }

    /// The key of a cell in an interior page of a table with rowids.
    package func rowid(_ index: Int) -> Int64? {
        guard kind.hasRowids, cells.indices.contains(index) else { return nil }
        var place = cells[index] + (kind.isLeaf ? 0 : 4)
        if kind.isLeaf { _ = varint(&place) }
        return varint(&place)
    }

    private func varint(_ place: inout Int) -> Int64? {
        RecordFormat.varint(bytes, &place, end: usableSize)
    }

    /// What does not fit is on other pages, each of which names the next.
    private func payload(_ size: Int, at place: Int, in file: DamagedFile) -> [UInt8]? {
        let most = kind == .tableLeaf ? usableSize - 35 : (usableSize - 12) * 64 / 255 - 23
        let least = (usableSize - 12) * 32 / 255 - 23
        var local = size
        if size > most {
            local = least + (size - least) % (usableSize - 4)
            if local > most { local = least }
        }
        guard place + local + (local < size ? 4 : 0) <= usableSize else { return nil }
        var payload = Array(bytes[place..<place + local])
        guard local < size else { return payload }
        payload.reserveCapacity(size)
        var next = DamagedFile.number(bytes, place + local)
        while payload.count < size {
            guard next > 1, let page = file.page(next), page.count >= usableSize else { return nil }
            let part = page[4..<4 + min(usableSize - 4, size - payload.count)]
            // As long as it is one that is in use is not empty: so does a disk give a block that it has lost.
            if part.count >= Self.shortestPart, page.allSatisfy({ $0 == 0 }) { return nil }
            payload += part
            next = DamagedFile.number(page, 0)
        }
        return next == 0 ? payload : nil
    }

    /// Bytes of a row's end that are never all zero.
    private static let shortestPart = 8
}

/// How SQLite writes the values of a row.
enum RecordFormat {
    /// Far more than any table has columns.
    private static let mostValues = 100

    /// - Parameter end: of what may be read.
    /// - Returns: nil when it does not end before that.
    static func varint(_ bytes: [UInt8], _ place: inout Int, end: Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard place < end else { return nil }
            let byte = bytes[place]
            place += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 { return Int64(bitPattern: value) }
        }
        return nil
    }

    /// - Returns: nil for what is no row, and for one whose length is not that of its values.
    static func values(_ payload: [UInt8]) -> [Value]? {
        var place = 0
        guard let length = varint(payload, &place, end: payload.count), length >= Int64(place),
            length <= Int64(payload.count)
        else { return nil }
        let end = Int(length)
        var content = end
        var values: [Value] = []
        while place < end {
            guard values.count < mostValues, let type = varint(payload, &place, end: end),
                let value = value(type, payload, &content)
            else { return nil }
            values.append(value)
        }
        return content == payload.count ? values : nil
    }

    private static func value(_ type: Int64, _ payload: [UInt8], _ place: inout Int) -> Value? {
        let count: Int
        switch type {
        case 0, 8, 9: count = 0
        case 1...4: count = Int(type)
        case 5: count = 6
        case 6, 7: count = 8
        case 12...: count = Int(clamping: (type - 12) / 2)
        default: return nil
        }
        guard count <= payload.count - place else { return nil }
        let bytes = payload[place..<place + count]
        place += count
        switch type {
        case 0: return .null
        case 8, 9: return .integer(type - 8)
        case 7: return .real(Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }))
        case 12...:
            return type % 2 == 0 ? .blob(Array(bytes)) : .text(String(decoding: bytes, as: UTF8.self))
        default:
            let isNegative = bytes.first.map { $0 & 0x80 != 0 } ?? false
            return .integer(bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) })
        }
    }
}
