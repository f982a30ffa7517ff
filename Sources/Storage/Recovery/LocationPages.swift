internal import Base
internal import SQLite

/// The locations of a damaged database, read page by page, oldest first.
final class LocationPages {
    /// A whole leaf, or one row between two pages.
    private struct Item {
        var key: RowKey
        var page: Int
        /// nil: all of them.
        var cell: Int?
    }

    private let survey: PageSurvey
    private let shape: TableShape
    private let items: [Item]
    private var next = 0
    /// Gives values the form of a row that SQLite has read.
    private let row: Statement
    /// Where in a row of that version each of `Schema.columns`, and `uploaded`, stands; nil: nowhere.
    private let places: [Int?]
    /// Every row so far could be read.
    private(set) var isWhole = true

    var isAtEnd: Bool { next >= items.count }

    /// - Returns: nil when there is no such table.
    static func make(_ survey: PageSurvey) throws(SQLiteError) -> LocationPages? {
        let table = RecordKind.locations.table.name
        guard let shape = survey.shapes.first(where: { $0.name == table }), let tree = survey.trees[table]
        else { return nil }
        var items: [Item] = []
        for number in tree.pages {
            guard let page = survey.file.treePage(number) else { continue }
            for cell in 0..<page.cellCount {
                guard let row = page.row(cell, in: survey.file), shape.fits(row), let key = key(row) else {
                    continue
                }
                items.append(Item(key: key, page: number, cell: page.kind.isLeaf ? nil : cell))
                if page.kind.isLeaf { break }
            }
        }
        items.sort { $0.key < $1.key }
        let names = Schema.columns.split(separator: ", ").map { $0.filter { $0 != "\"" } } + ["uploaded"]
        let places = names.map { name in shape.columns.firstIndex { $0.name == name } }
        let list = names.map { _ in "?" }.joined(separator: ", ")
        let db = try Connection(path: ":memory:", access: .readWrite)
        return LocationPages(
            survey: survey, shape: shape, items: items, row: try db.prepare("SELECT " + list), places: places)
    }

    private init(
        survey: PageSurvey, shape: TableShape, items: [Item], row: consuming Statement, places: [Int?]
    ) {
        self.survey = survey
        self.shape = shape
        self.items = items
        self.row = row
        self.places = places
    }

    private static func key(_ row: TreePage.Row) -> RowKey? {
        guard row.values.count > 1, case .integer(let ts) = row.values[0],
            case .integer(let seq) = row.values[1]
        else { return nil }
        return RowKey(ts: ts, seq: seq)
    }

    /// Hands over the rows of the next page, or the next row between two.
    func read(_ body: (borrowing Statement) -> Void) throws(SQLiteError) {
        guard !isAtEnd else { return }
        let item = items[next]
        next += 1
        guard let page = survey.file.treePage(item.page) else { return }
        for cell in item.cell.map({ $0..<$0 + 1 }) ?? 0..<page.cellCount {
            guard let found = page.row(cell, in: survey.file), shape.fits(found) else {
                isWhole = false
                continue
            }
            try row.bind(
                places.map {
                    $0.flatMap { found.values.indices.contains($0) ? found.values[$0] : nil } ?? .null
                })
            if try row.step() { body(row) }
            row.reset()
        }
    }
}
