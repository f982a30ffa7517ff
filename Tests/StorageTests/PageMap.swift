import SQLite
import Testing

@testable import Storage

/// On which page of a sound database each row lies, read from the bytes alone.
struct PageMap {
    /// The number of the page, from 1, by the id of the row, for each table.
    private(set) var pages: [String: [[UInt8]: Int]] = [:]
    /// All pages of each table, overflow pages included.
    private(set) var tables: [String: Set<Int>] = [:]
    let pageSize: Int

    /// - Parameter ids: those of the rows of each table.
    init(_ bytes: [UInt8], database path: String, ids: [String: Set<[UInt8]>]) throws {
        pageSize = Int(bytes[16]) << 8 | Int(bytes[17])
        let db = try Connection(path: path, access: .readOnly)
        let rows = try db.prepare("SELECT name, pageno, pagetype FROM dbstat")
        while try rows.step() {
            let (name, page) = (rows.text(0) ?? "", Int(rows.integer(1)))
            tables[name, default: []].insert(page)
            guard let wanted = ids[name], rows.text(2) != "overflow" else { continue }
            for cell in Self.cells(bytes[(page - 1) * pageSize..<page * pageSize], isFirst: page == 1) {
                for id in Self.windows(cell) where wanted.contains(id) && pages[name]?[id] == nil {
                    pages[name, default: [:]][id] = page
                }
            }
        }
    }

    /// As the file format has them: pointers of two bytes behind a header of 8 or 12, each to a length and so many bytes.
    private static func cells(_ page: ArraySlice<UInt8>, isFirst: Bool) -> [ArraySlice<UInt8>] {
        let header = page.startIndex + (isFirst ? 100 : 0)
        func number(_ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }
        let isInterior = page[header] == 2 || page[header] == 5
        // Interior pages of tables have no rows.
        guard page[header] != 5 else { return [] }
        return (0..<number(header + 3)).map { index in
            var start = page.startIndex + number(header + (isInterior ? 12 : 8) + 2 * index)
            if isInterior { start += 4 }
            var (length, place) = (0, start)
            repeat {
                length = length << 7 | Int(page[place] & 0x7F)
                place += 1
            } while page[place - 1] & 0x80 != 0
            return page[start..<min(place + 9 + length, page.endIndex)]
        }
    }

    /// Every 16 bytes that follow each other: one of them is the id.
    private static func windows(_ cell: ArraySlice<UInt8>) -> some Sequence<[UInt8]> {
        (cell.startIndex..<max(cell.endIndex - 15, cell.startIndex)).lazy.map { Array(cell[$0..<$0 + 16]) }
    }

    /// The ids of the rows that lie on none of these pages.
    func sound(_ table: String, besides damaged: Set<Int>) -> Set<[UInt8]> {
        Set((pages[table] ?? [:]).filter { !damaged.contains($0.value) }.keys)
    }

    /// Whether no page of the table is among them.
    func isSound(_ table: String, besides damaged: Set<Int>) -> Bool {
        tables[table]?.isDisjoint(with: damaged) ?? true
    }
}
