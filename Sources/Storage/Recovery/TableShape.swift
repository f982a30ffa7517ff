internal import Base
internal import SQLite

/// What the rows of a table look like, as far as their bytes show it: the tables are strict, and so are the types of values.
struct TableShape {
    struct Column {
        var name: String
        var type: String
        var mayBeNull: Bool
        /// Stands for the rowid, and is empty in the row itself.
        var isRowid: Bool
    }

    let name: String
    let hasRowids: Bool
    let columns: [Column]
    /// Columns of the key, which come first where there are no rowids.
    let keyCount: Int
    /// Columns that every row has: rows that are older than the last ones end before those.
    private let leastCount: Int

    /// The shapes of all tables of a version.
    static func all(version: Int64) throws(SQLiteError) -> [TableShape] {
        let model = try Connection(path: ":memory:", access: .readWrite)
        try Schema.make(version: version, in: model)
        let tables = try model.prepare(
            "SELECT name, wr FROM pragma_table_list WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'")
        var shapes: [TableShape] = []
        while try tables.step() {
            shapes.append(
                try TableShape(tables.text(0) ?? "", hasRowids: tables.integer(1) == 0, in: model))
        }
        return shapes
    }

    private init(_ name: String, hasRowids: Bool, in model: Connection) throws(SQLiteError) {
        let found = try model.prepare(
            "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk FROM pragma_table_info('\(name)')")
        var (columns, keyCount, leastCount): ([Column], Int, Int) = ([], 0, 0)
        while try found.step() {
            let isRowid = hasRowids && found.integer(4) == 1
            let mayBeNull = isRowid || found.integer(2) == 0 && found.integer(4) == 0
            columns.append(
                Column(
                    name: found.text(0) ?? "", type: found.text(1) ?? "", mayBeNull: mayBeNull,
                    isRowid: isRowid))
            if found.integer(4) > 0 { keyCount += 1 }
            if !mayBeNull && found.integer(3) == 0 || isRowid { leastCount = columns.count }
        }
        self.name = name
        self.hasRowids = hasRowids
        self.columns = columns
        self.keyCount = keyCount
        self.leastCount = leastCount
    }

    /// Whether it may be a row of this table.
    func fits(_ row: TreePage.Row) -> Bool {
        guard (leastCount...columns.count).contains(row.values.count), (row.rowid != nil) == hasRowids else {
            return false
        }
        return zip(row.values, columns).allSatisfy { value, column in
            switch (value, column.type) {
            case (.null, _): column.mayBeNull
            case (_, _) where column.isRowid: false
            // Whole numbers are written as such in either.
            case (.integer, "INTEGER"), (.integer, "REAL"), (.real, "REAL"), (.text, "TEXT"), (.blob, "BLOB"):
                true
            default: false
            }
        }
    }

    /// Whether the rows of a page, which no page refers to any more, are of this table. Counters and destinations look alike.
    func fits(all rows: [TreePage.Row]) -> Bool {
        guard !rows.isEmpty, rows.allSatisfy(fits) else { return false }
        func names(_ isOne: (String) -> Bool) -> [Bool] {
            rows.map { if case .text(let name)? = $0.values.first { isOne(name) } else { false } }
        }
        switch name {
        case "counters": return names(Counters.isName).contains(true)
        case "destinations":
            return !names(Counters.isName).contains(true)
                && names { DestinationName($0) != nil }.allSatisfy { $0 }
        default: return true
        }
    }

    /// The values of a row, that of the rowid in its place; what an older row does not have is left out.
    func values(_ row: TreePage.Row) -> [Value] {
        zip(row.values, columns).map { value, column in
            column.isRowid ? row.rowid.map { .integer($0) } ?? .null : value
        }
    }

    func key(_ row: TreePage.Row) -> TreeKey {
        TreeKey(row.rowid.map { [.integer($0)] } ?? Array(row.values.prefix(keyCount)))
    }
}

/// The place of a row in its tree.
struct TreeKey: Comparable {
    private let values: [Value]

    init(_ values: [Value]) {
        self.values = values
    }

    static func < (left: TreeKey, right: TreeKey) -> Bool {
        for (one, other) in zip(left.values, right.values) where one != other { return isLess(one, other) }
        return false
    }

    /// Whether SQLite sorts one before the other: numbers, texts, blobs, the latter two by their bytes.
    private static func isLess(_ one: Value, _ other: Value) -> Bool {
        switch (one, other) {
        case (.integer(let one), .integer(let other)): one < other
        case (.text(let one), .text(let other)): one.utf8.lexicographicallyPrecedes(other.utf8)
        case (.blob(let one), .blob(let other)): one.lexicographicallyPrecedes(other)
        default: rank(one) < rank(other)
        }
    }

    private static func rank(_ value: Value) -> Int {
        switch value {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }
}
