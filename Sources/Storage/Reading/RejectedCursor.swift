package import Base
internal import SQLite
package import Tracking

/// A location or event that the server refused for good.
package struct RejectedRow: Equatable, Sendable {
    /// The location that was refused; nil when it is an event.
    package var location: Location?
    /// The event that was refused; nil when it is a location.
    package var event: RecordedEvent?
    /// The batch that was refused.
    package var batch: UUIDv7
    /// What the server answered.
    package var httpStatus: Int
    /// When the server refused it.
    package var rejectedAt: Timestamp
    /// The reason that the server gave; nil: none.
    package var reason: String?
}

/// A place in the list of dead letters, in the order of their rejection: locations first, then events.
package struct RejectedCursor: HistoryCursor {
    private let destination: DestinationName
    private var last: (at: Int64, seq: Int64) = (.min, .min)
    private var isAtEvents = false
    package private(set) var isAtEnd = false

    /// Before the first.
    package init(of destination: DestinationName = .main) {
        self.destination = destination
    }

    package mutating func next(
        limit: Int, in history: borrowing History
    ) throws(StorageError) -> [RejectedRow] {
        do throws(SQLiteError) {
            let ids = try history.sessionIDs()
            var found = isAtEvents ? [] : try locations(limit, ids, history.db)
            if isAtEvents { found += try events(limit - found.count, ids, history.db) }
            return found
        } catch {
            throw StorageError(error)
        }
    }

    /// `columns`, and behind them those of the rejection.
    private func rows(
        of table: String, _ columns: String, _ limit: Int, _ db: Connection
    ) throws(SQLiteError) -> Statement {
        let rows = try db.prepare(
            """
            SELECT \(columns), batch, http_status, rejected_at, reason FROM \(table) \
            WHERE (rejected_at, seq) > (?, ?) AND destination = ? ORDER BY rejected_at, seq LIMIT ?
            """)
        try rows.bind([
            .integer(last.at), .integer(last.seq), .text(destination.text), .integer(Int64(limit)),
        ])
        return rows
    }

    private mutating func locations(
        _ limit: Int, _ ids: [Int64: UUIDv7], _ db: Connection
    ) throws(SQLiteError) -> [RejectedRow] {
        let rows = try rows(of: "rejected", Schema.columns, limit, db)
        var found: [RejectedRow] = []
        var count = 0
        while try rows.step() {
            count += 1
            last = (rows.integer(Schema.columnCount + 2), rows.integer(1))
            guard let row = LocationRow(rows, sessionID: { ids[$0] }),
                let batch = UUIDv7(bytes: rows.blob(Schema.columnCount))
            else { continue }
            found.append(
                RejectedRow(
                    location: row.location, event: nil, batch: batch,
                    httpStatus: Int(clamping: rows.integer(Schema.columnCount + 1)),
                    rejectedAt: Timestamp(milliseconds: rows.integer(Schema.columnCount + 2)),
                    reason: rows.text(Schema.columnCount + 3)))
        }
        if count < limit { (isAtEvents, last) = (true, (.min, .min)) }
        return found
    }

    private mutating func events(
        _ limit: Int, _ ids: [Int64: UUIDv7], _ db: Connection
    ) throws(SQLiteError) -> [RejectedRow] {
        let rows = try rows(of: "rejected_events", EventRow.columns, limit, db)
        var found: [RejectedRow] = []
        var count = 0
        while try rows.step() {
            count += 1
            let behind = EventRow.columnCount
            last = (rows.integer(behind + 2), rows.integer(0))
            guard let row = EventRow(rows), let session = ids[row.session],
                let batch = UUIDv7(bytes: rows.blob(behind))
            else { continue }
            found.append(
                RejectedRow(
                    location: nil, event: row.event(session: session), batch: batch,
                    httpStatus: Int(clamping: rows.integer(behind + 1)),
                    rejectedAt: Timestamp(milliseconds: rows.integer(behind + 2)),
                    reason: rows.text(behind + 3)))
        }
        isAtEnd = count < limit
        return found
    }
}
