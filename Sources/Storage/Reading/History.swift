package import Base
package import Linux
internal import SQLite
package import Tracking

/// A place in what is read page by page. Both it and what it reads of each row are its own; `History` is the connection.
package protocol HistoryCursor: Sendable {
    associatedtype Row
    /// Rows of one page at most.
    static var pageLimit: Int { get }
    /// All has been read.
    var isAtEnd: Bool { get }

    /// The next rows, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    mutating func next(limit: Int, in history: borrowing History) throws(StorageError) -> [Row]
}

extension HistoryCursor {
    package static var pageLimit: Int { 1000 }
}

/// Reads what is stored, through a connection that can only read, in pages, so that no long read keeps the WAL from being
/// used again.
package struct History: ~Copyable {
    let db: Connection
    let locations: Statement
    let sessionLocations: Statement

    /// Opens the database in this directory, which must exist.
    ///
    /// - Parameter files: where that is.
    package init(directory: String, on files: any Files = SystemFiles()) throws(StorageError) {
        do throws(SQLiteError) {
            let db = try Connection(path: directory + "/beekon.db", access: .readOnly, vfs: files.vfs)
            try db.execute("PRAGMA query_only = ON")
            try db.execute("PRAGMA mmap_size = 0")
            // KiB. Up to thirty of them may be open; reading once in order needs no more.
            try db.execute("PRAGMA cache_size = -256")
            try db.execute("PRAGMA trusted_schema = OFF")
            func select(_ condition: String) throws(SQLiteError) -> Statement {
                try db.prepare(
                    """
                    SELECT \(Schema.columns) FROM locations WHERE (ts, seq) > (?, ?) AND ts <= ? \
                    \(condition)ORDER BY ts, seq LIMIT ?
                    """)
            }
            let locations = try select("")
            let sessionLocations = try select("AND session = ? ")
            self.locations = locations
            self.sessionLocations = sessionLocations
            self.db = db
        } catch {
            throw StorageError(error)
        }
    }

    /// The next rows, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    package func next<Cursor: HistoryCursor>(
        _ cursor: inout Cursor, limit: Int = Cursor.pageLimit
    ) throws(StorageError) -> [Cursor.Row] {
        try cursor.next(limit: limit, in: self)
    }

    func sessionIDs() throws(SQLiteError) -> [Int64: UUIDv7] { try Sessions.ids(db) }

    // Beside MAX, SQLite takes the other columns from the row that has the maximum.
    private static let sessions = """
        SELECT s.id, s.started_at, s.stopped_at, s.first_seq, s.last_seq, s.odometer, l.seq, l.odometer \
        FROM sessions s LEFT JOIN (SELECT session, MAX(seq) AS seq, odometer FROM locations GROUP BY session) l \
        ON l.session = s.key WHERE s.is_tracking = 1 ORDER BY s.key
        """

    /// All sessions, oldest first.
    @available(*, noasync, message: "blocks on the disk")
    package func allSessions() throws(StorageError) -> [SessionRecord] {
        do {
            let sessions = try db.prepare(Self.sessions)
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

    /// The trips that have ended and touch this time, oldest first; both ends are inclusive, nil is open.
    @available(*, noasync, message: "blocks on the disk")
    package func trips(from: Timestamp?, to: Timestamp?) throws(StorageError) -> [Trip] {
        do {
            return try TripTable.all(db, from: from, to: to)
        } catch {
            throw StorageError(error)
        }
    }
}
