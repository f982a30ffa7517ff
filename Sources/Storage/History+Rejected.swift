internal import SQLite
public import Tracking

/// A location that the server refused for good.
public struct RejectedLocation: Equatable, Sendable {
    /// As it was stored.
    public var location: Location
    /// The batch that was refused.
    public var batch: UUIDv7
    /// What the server answered.
    public var httpStatus: Int
    /// When it did.
    public var rejectedAt: Timestamp
}

extension History {
    /// A place in the list of dead letters.
    public struct RejectedCursor: Sendable {
        var last: (at: Int64, seq: Int64) = (.min, .min)
        /// The list has been read to its end.
        public fileprivate(set) var isAtEnd = false

        /// Before the first.
        public init() {}
    }

    /// The next dead letters in the order of their rejection, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    public func next(
        _ cursor: inout RejectedCursor, limit: Int = pageLimit
    ) throws(StorageError) -> [RejectedLocation] {
        do throws(SQLiteError) {
            let ids = try sessionIDs()
            let rows = try statements.db.prepare(
                """
                SELECT \(Schema.columns), batch, http_status, rejected_at FROM rejected \
                WHERE (rejected_at, seq) > (?, ?) ORDER BY rejected_at, seq LIMIT ?
                """)
            try rows.bind([
                .integer(cursor.last.at), .integer(cursor.last.seq), .integer(Int64(limit)),
            ])
            var found: [RejectedLocation] = []
            var count = 0
            while try rows.step() {
                count += 1
                cursor.last = (rows.integer(20), rows.integer(1))
                guard let row = LocationRow(rows, sessionID: { ids[$0] }),
                    let batch = UUIDv7(bytes: rows.blob(18))
                else { continue }
                found.append(
                    RejectedLocation(
                        location: row.location, batch: batch, httpStatus: Int(clamping: rows.integer(19)),
                        rejectedAt: Timestamp(milliseconds: rows.integer(20))))
            }
            cursor.isAtEnd = count < limit
            return found
        } catch {
            throw StorageError(error)
        }
    }
}
