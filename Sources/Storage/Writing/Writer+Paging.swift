internal import SQLite

/// All rows in the order of time, in steps that do not keep fixes waiting.
extension Writer {
    /// Number of rows that one step changes.
    private static let pageStep = 1000
    /// Number of rows that one step examines: those that are wanted may be few among many.
    private static let pageSearch = 10_000

    /// The next rows after `key` that are wanted, at most one step of them. Not among them is what nobody was ever to get.
    ///
    /// - Parameter isWanted: by its key, and whether it is kept though nobody is owed it.
    /// - Returns: the rows, and where to continue; nil at the end of the range.
    func page(
        of kind: RecordKind, after key: RowKey, to: Int64, where isWanted: (RowKey, Bool) -> Bool
    ) throws(SQLiteError) -> (rows: [DeadLetters.Returned], next: RowKey?) {
        let rows = try db.prepare(
            """
            SELECT ts, seq, session, uploaded FROM \(kind.table) WHERE (ts, seq) > (?, ?) AND ts <= ? \
            AND uploaded < \(EventRow.Custody.local.rawValue) ORDER BY ts, seq LIMIT \(Self.pageSearch)
            """)
        try rows.bind([.integer(key.ts), .integer(key.seq), .integer(to)])
        var found: [DeadLetters.Returned] = []
        var last: RowKey?
        var looked = 0
        while found.count < Self.pageStep, try rows.step() {
            let key = RowKey(ts: rows.integer(0), seq: rows.integer(1))
            let isKept = rows.integer(3) != 0
            if isWanted(key, isKept) {
                found.append(.init(key: key, session: rows.integer(2), wasKept: isKept))
            }
            last = key
            looked += 1
        }
        let isAll = found.count < Self.pageStep && looked < Self.pageSearch
        return (found, isAll ? nil : last)
    }
}
