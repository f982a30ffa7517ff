internal import Base
internal import SQLite

/// The tables of a damaged database that SQLite does not read to their end, in memory, with all rows that are left of them.
/// All but the locations, of which there are too many.
struct MendedTables {
    /// Has every table of that version.
    let db: Connection
    /// Tables that are to be read from it, with the rows that are left.
    private let names: Set<String>
    /// SQLite can tell which tables there are.
    private let isReadable: Bool

    private init(_ db: Connection, _ names: Set<String>, isReadable: Bool) {
        self.db = db
        self.names = names
        self.isReadable = isReadable
    }

    /// Whether a table is to be read from it.
    func has(_ table: String) -> Bool { !isReadable || names.contains(table) }

    /// - Parameters:
    ///   - isReadable: SQLite can tell which tables there are.
    ///   - room: rows that are taken over at most.
    /// - Returns: nil when SQLite can read them all.
    static func make(
        _ survey: PageSurvey, isReadable: Bool, room: Int
    ) throws(SQLiteError) -> MendedTables? {
        var names: Set<String> = []
        for shape in survey.shapes where shape.name != RecordKind.locations.table.name {
            guard survey.trees[shape.name] != nil else { continue }
            let isWhole = try survey.forEachRow(of: shape) { (_) throws(SQLiteError) in }
            if !isWhole || !isReadable { names.insert(shape.name) }
        }
        guard !names.isEmpty || !isReadable else { return nil }
        let db = try Connection(path: ":memory:", access: .readWrite)
        try Schema.make(version: survey.version, in: db)
        var left = room
        for shape in survey.shapes where names.contains(shape.name) {
            _ = try survey.forEachRow(of: shape) { (row) throws(SQLiteError) in
                guard left > 0 else { return }
                left -= 1
                let values = shape.values(row)
                let columns = shape.columns.prefix(values.count).map { "\"\($0.name)\"" }
                let places = Array(repeating: "?", count: values.count)
                // One that is there twice, or breaks a rule, is left out.
                try? db.prepare(
                    """
                    INSERT OR IGNORE INTO \(shape.name) (\(columns.joined(separator: ", "))) \
                    VALUES (\(places.joined(separator: ", ")))
                    """
                ).run(values)
            }
        }
        return MendedTables(db, names, isReadable: isReadable)
    }
}
