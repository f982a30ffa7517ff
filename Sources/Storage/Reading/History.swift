package import Base
package import Linux
internal import SQLite
package import Tracking

/// Reads what is stored, through a connection that can only read, in pages, so that no long read keeps the WAL from being
/// used again.
package struct History: ~Copyable {
    let statements: HistoryStatements

    /// Rows of one page at most.
    package static let pageLimit = 1000

    /// Opens the database in this directory, which must exist.
    ///
    /// - Parameter files: where that is.
    package init(directory: String, on files: any Files = SystemFiles()) throws(StorageError) {
        do {
            statements = try HistoryStatements(path: directory + "/beekon.db", vfs: files.vfs)
        } catch {
            throw StorageError(error)
        }
    }

    /// A place in a range that is being read page by page.
    package struct Cursor: Sendable {
        var last: RowKey
        let end: Int64
        let session: UUIDv7?
        /// The range has been read to its end.
        package fileprivate(set) var isAtEnd = false

        /// A cursor over a range. Both ends are inclusive; nil is open.
        package init(from: Timestamp?, to: Timestamp?, session: UUIDv7? = nil) {
            last = RowKey(ts: from?.milliseconds ?? .min, seq: .min)
            end = to?.milliseconds ?? .max
            self.session = session
        }
    }

    /// The next locations in ascending order of time, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    package func next(_ cursor: inout Cursor, limit: Int = pageLimit) throws(StorageError) -> [Location] {
        do {
            let ids = try sessionIDs()
            var values: [Value] = [.integer(cursor.last.ts), .integer(cursor.last.seq), .integer(cursor.end)]
            guard let wanted = cursor.session else {
                return try read(statements.page, values + [.integer(Int64(limit))], limit, ids, &cursor)
            }
            guard let key = ids.first(where: { $0.value == wanted })?.key else {
                cursor.isAtEnd = true
                return []
            }
            values += [.integer(key), .integer(Int64(limit))]
            return try read(statements.sessionPage, values, limit, ids, &cursor)
        } catch {
            throw StorageError(error)
        }
    }

    private func read(
        _ statement: borrowing Statement, _ values: [Value], _ limit: Int, _ ids: [Int64: UUIDv7],
        _ cursor: inout Cursor
    ) throws(SQLiteError) -> [Location] {
        try statement.bind(values)
        defer { statement.reset() }
        var locations: [Location] = []
        var count = 0
        while try statement.step() {
            count += 1
            cursor.last = RowKey(ts: statement.integer(0), seq: statement.integer(1))
            if let row = LocationRow(statement, sessionID: { ids[$0] }) { locations.append(row.location) }
        }
        cursor.isAtEnd = count < limit
        return locations
    }

    func sessionIDs() throws(SQLiteError) -> [Int64: UUIDv7] { try Sessions.ids(statements.db) }

    /// All sessions, oldest first.
    @available(*, noasync, message: "blocks on the disk")
    package func allSessions() throws(StorageError) -> [SessionRecord] {
        do {
            let sessions = try statements.db.prepare(HistoryStatements.sessions)
            var records: [SessionRecord] = []
            while try sessions.step() {
                guard let id = UUIDv7(bytes: sessions.blob(0)) else { continue }
                // The newest row knows better than what was written down when rows were last deleted.
                let newestRow = sessions.optionalInteger(6) ?? .min
                let written = sessions.integer(4)
                let isRowNewer = newestRow >= written
                records.append(
                    SessionRecord(
                        id: id, startedAt: Timestamp(milliseconds: sessions.integer(1)),
                        stoppedAt: sessions.optionalInteger(2).map { Timestamp(milliseconds: $0) },
                        locations: Int(clamping: max(newestRow, written) &- sessions.integer(3) &+ 1),
                        distance: isRowNewer ? sessions.real(7) : sessions.real(5)))
            }
            return records
        } catch {
            throw StorageError(error)
        }
    }
}

struct HistoryStatements: ~Copyable {
    let db: Connection
    let page: Statement
    let sessionPage: Statement

    // Beside MAX, SQLite takes the other columns from the row that has the maximum.
    static let sessions = """
        SELECT s.id, s.started_at, s.stopped_at, s.first_seq, s.last_seq, s.odometer, l.seq, l.odometer \
        FROM sessions s LEFT JOIN (SELECT session, MAX(seq) AS seq, odometer FROM locations GROUP BY session) l \
        ON l.session = s.key WHERE s.is_tracking = 1 ORDER BY s.key
        """

    init(path: String, vfs: String?) throws(SQLiteError) {
        let db = try Connection(path: path, access: .readOnly, vfs: vfs)
        try db.execute("PRAGMA query_only = ON")
        try db.execute("PRAGMA mmap_size = 0")
        // KiB. Up to thirty of them may be open; reading once in order needs no more.
        try db.execute("PRAGMA cache_size = -256")
        try db.execute("PRAGMA trusted_schema = OFF")
        let columns = Schema.columns
        let page = try db.prepare(
            "SELECT \(columns) FROM locations WHERE (ts, seq) > (?, ?) AND ts <= ? ORDER BY ts, seq LIMIT ?")
        let sessionPage = try db.prepare(
            """
            SELECT \(columns) FROM locations WHERE (ts, seq) > (?, ?) AND ts <= ? AND session = ? \
            ORDER BY ts, seq LIMIT ?
            """)
        self.db = db
        self.page = page
        self.sessionPage = sessionPage
    }
}
