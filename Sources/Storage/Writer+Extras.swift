internal import SQLite

extension Writer {
    /// Sets of extras that are kept, beside those that rows refer to: who sets others with every trip must not fill the disk
    /// with them.
    static let unusedExtrasLimit = 1000

    /// Forgets the sets that nothing refers to any more. Looks at every row, and so is done once in a thousand new sets.
    mutating func forgetUnusedExtras() throws(SQLiteError) {
        let tables = try db.prepare(
            """
            SELECT tables.name FROM sqlite_schema tables JOIN pragma_table_info(tables.name) columns \
            WHERE tables.type = 'table' AND columns.name = 'extras'
            """)
        var uses: [String] = []
        while try tables.step() { uses.append("SELECT extras FROM " + (tables.text(0) ?? "")) }
        guard !uses.isEmpty else { return }
        let used = uses.joined(separator: " UNION ")
        try db.execute("DELETE FROM extras WHERE version NOT IN (\(used))")
        extras = [:]
        let left = try db.prepare("SELECT version, json FROM extras")
        while try left.step() { extras[left.text(1) ?? ""] = left.integer(0) }
        extrasLimit = extras.count + Self.unusedExtrasLimit
    }
}
