internal import Base
internal import SQLite

/// Which pages of a damaged database belong to which table. A table goes on behind each damaged place: what lies below a page
/// that is lost is found by what its rows look like, and by where it lacks.
struct PageSurvey {
    /// The pages of a table, and where some of it is lost.
    struct Tree {
        var pages: [Int] = []
        fileprivate(set) var gaps: [Gap] = []
        /// Every page that belongs to it was found.
        var isWhole: Bool { gaps.isEmpty }
    }

    /// Keys between which a tree lacks a page; nil: from the first, to the last.
    struct Gap {
        var low: TreeKey?
        var high: TreeKey?

        func contains(_ key: TreeKey) -> Bool {
            (low.map { $0 < key } ?? true) && (high.map { key < $0 } ?? true)
        }
    }

    let file: DamagedFile
    /// Version of the schema of its tables; the present one where the file does not say.
    let version: Int64
    let shapes: [TableShape]
    private(set) var trees: [String: Tree] = [:]
    /// Whether the list of tables is whole; else a table may be there that it does not name.
    private(set) var knowsTables: Bool
    /// The kind of each page that belongs to a tree, by its number; 0 for all others, also once a tree has taken it.
    private var kinds: [UInt8]

    init(path: String, vfs: String?, _ progress: SalvageProgress) throws(SQLiteError) {
        try self.init(try DamagedFile(database: path, usual: Int(Schema.pageSize), vfs: vfs), progress)
    }

    private init(_ file: DamagedFile, _ progress: SalvageProgress) throws(SQLiteError) {
        var version = file.header.map { Int64(DamagedFile.number($0, 60)) } ?? Schema.version
        if !(1...Schema.version).contains(version) { version = Schema.version }
        let shapes = try TableShape.all(version: version)
        var kinds = [UInt8](repeating: 0, count: file.pageCount + 1)
        for number in stride(from: 1, through: file.pageCount, by: 1) {
            if number % Self.step == 0 { progress.advance() }
            kinds[number] = file.treePage(number)?.kind.rawValue ?? 0
        }
        self.init(file, version, shapes, kinds)
        findTrees(progress)
    }

    private init(_ file: DamagedFile, _ version: Int64, _ shapes: [TableShape], _ kinds: [UInt8]) {
        self.file = file
        self.version = version
        self.shapes = shapes
        self.kinds = kinds
        knowsTables = false
    }

    /// Pages that are one piece of the work.
    private static let step = 1000
    /// Places in a tree that are told apart.
    private static let gapLimit = 1000
    /// The list of tables: a table of five columns.
    private static let listColumns = 5
    /// Tables and indexes that are read of it at most.
    private static let listLimit = 1000

    private mutating func findTrees(_ progress: SalvageProgress) {
        let others = kinds
        let list = take(root: 1, hasRowids: true, keyCount: 1)
        knowsTables = list.isWhole
        var roots: [(name: String, root: Int, shape: TableShape?)] = []
        for page in list.pages {
            guard let page = file.treePage(page) else { continue }
            for index in 0..<page.cellCount {
                guard let entry = page.row(index, in: file), let found = Self.entry(entry.values) else {
                    if page.kind.hasRows { knowsTables = false }
                    continue
                }
                let shape = found.isTable ? shapes.first { $0.name == found.name } : nil
                if roots.count < Self.listLimit { roots.append((found.name, found.root, shape)) }
            }
        }
        for (name, root, shape) in roots {
            let kind = TreePage.Kind(rawValue: kinds.indices.contains(root) ? kinds[root] : 0)
            let tree = take(
                root: root, hasRowids: shape?.hasRowids ?? kind?.hasRowids ?? false,
                keyCount: shape?.keyCount ?? 0)
            if shape != nil { trees[name] = tree }
        }
        for shape in shapes where trees[shape.name] == nil && !knowsTables {
            trees[shape.name] = Tree(gaps: [Gap()])
        }
        guard trees.values.contains(where: { !$0.isWhole }) else { return }
        findLost(besides: file.freePages { others[$0] == 0 }, progress)
    }

    private static func entry(_ values: [Value]) -> (isTable: Bool, name: String, root: Int)? {
        guard values.count == listColumns, case .text(let type) = values[0], case .text(let name) = values[1],
            case .integer(let root) = values[3]
        else { return nil }
        return (type == "table", name, Int(clamping: root))
    }

    /// Takes the pages below a root, the root included.
    private mutating func take(root: Int, hasRowids: Bool, keyCount: Int) -> Tree {
        var tree = Tree()
        var left: [(page: Int, gap: Gap)] = [(root, Gap())]
        while let (number, gap) = left.popLast() {
            guard kinds.indices.contains(number), let kind = TreePage.Kind(rawValue: kinds[number]),
                kind.hasRowids == hasRowids
            else {
                // With so many, what is left may be anywhere.
                tree.gaps = tree.gaps.count < Self.gapLimit ? tree.gaps + [gap] : [Gap()]
                continue
            }
            kinds[number] = 0
            tree.pages.append(number)
            guard !kind.isLeaf, let page = file.treePage(number) else { continue }
            var low = gap.low
            for (index, child) in page.children.enumerated() {
                let key = index < page.cellCount ? self.key(index, page, keyCount) : nil
                // A key that cannot be read bounds nothing.
                left.append((child, Gap(low: low, high: key?.next ?? gap.high)))
                low = key?.own ?? low
            }
        }
        return tree
    }

    /// The key of a cell, and the first that does not lie before it: a rowid may be below its cell as well.
    private func key(_ index: Int, _ page: TreePage, _ keyCount: Int) -> (own: TreeKey, next: TreeKey)? {
        if let rowid = page.rowid(index) {
            return (TreeKey([.integer(rowid)]), TreeKey([.integer(rowid < .max ? rowid + 1 : rowid)]))
        }
        return page.row(index, in: file).map { row in
            let key = TreeKey(Array(row.values.prefix(keyCount)))
            return (key, key)
        }
    }

    /// Gives pages that belong to no tree to the tables that lack some.
    private mutating func findLost(besides free: Set<Int>, _ progress: SalvageProgress) {
        let lacking = shapes.filter { trees[$0.name]?.isWhole == false }
        for number in kinds.indices where kinds[number] != 0 && !free.contains(number) {
            if number % Self.step == 0 { progress.advance() }
            guard let page = file.treePage(number), page.kind.hasRows else { continue }
            let rows = (0..<page.cellCount).compactMap { page.row($0, in: file) }
            for shape in lacking where shape.fits(all: rows) {
                guard let first = rows.first, let last = rows.last,
                    let gaps = trees[shape.name]?.gaps,
                    gaps.contains(where: { $0.contains(shape.key(first)) && $0.contains(shape.key(last)) })
                else { continue }
                trees[shape.name]?.pages.append(number)
                break
            }
        }
    }

    // MARK: Rows

    /// Hands over each row of a table that can be read.
    ///
    /// - Returns: whether that is all of them.
    func forEachRow(
        of shape: TableShape, _ body: (TreePage.Row) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        guard let tree = trees[shape.name] else { return true }
        var isWhole = tree.isWhole
        for number in tree.pages {
            guard let page = file.treePage(number), page.kind.hasRows else { continue }
            for index in 0..<page.cellCount {
                if let row = page.row(index, in: file), shape.fits(row) {
                    try body(row)
                } else {
                    isWhole = false
                }
            }
        }
        return isWhole
    }
}
