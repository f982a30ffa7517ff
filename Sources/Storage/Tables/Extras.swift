internal import SQLite

/// The sets of extras, under version numbers. Nothing in it ever changes.
struct Extras {
    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    /// The version of each set.
    func all() throws(SQLiteError) -> [String: Int64] {
        let rows = try db.prepare("SELECT version, json FROM extras")
        var versions: [String: Int64] = [:]
        while try rows.step() { versions[rows.text(1) ?? ""] = rows.integer(0) }
        return versions
    }

    func insert(_ json: String, version: Int64) throws(SQLiteError) {
        try db.prepare("INSERT INTO extras (version, json) VALUES (?, ?)").run(.integer(version), .text(json))
    }

    /// Forgets the sets that nothing refers to any more. Reads every row.
    ///
    /// - Returns: false when there is nothing that could refer to one.
    func removeUnused() throws(SQLiteError) -> Bool {
        let uses = try Schema.tables(naming: "extras", in: db).map { "SELECT extras FROM " + $0 }
        guard !uses.isEmpty else { return false }
        try db.execute("DELETE FROM extras WHERE version NOT IN (\(uses.joined(separator: " UNION ")))")
        return true
    }
}
