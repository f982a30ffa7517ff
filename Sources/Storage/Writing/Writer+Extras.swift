internal import SQLite

extension Writer {
    /// Sets of extras that are kept, beside those that rows refer to: who sets others with every trip must not fill the disk
    /// with them.
    static let unusedExtrasLimit = 1000

    /// Forgets the sets that nothing refers to any more. Looks at every row, and so is done once in a thousand new sets.
    mutating func forgetUnusedExtras() throws(SQLiteError) {
        let uses = try Schema.tables(naming: "extras", in: db).map { "SELECT extras FROM " + $0 }
        guard !uses.isEmpty else { return }
        let used = uses.joined(separator: " UNION ")
        try db.execute("DELETE FROM extras WHERE version NOT IN (\(used))")
        try loadExtras()
        extrasLimit = extras.count + Self.unusedExtrasLimit
    }

    mutating func loadExtras() throws(SQLiteError) {
        extras = [:]
        let versions = try db.prepare("SELECT version, json FROM extras")
        while try versions.step() { extras[versions.text(1) ?? ""] = versions.integer(0) }
    }
}
