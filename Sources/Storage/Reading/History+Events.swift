package import Base
internal import SQLite
package import Tracking

extension History {
    /// A place in a range of geofence events.
    package struct EventCursor: Sendable {
        var last: RowKey
        let end: Int64
        /// The range has been read to its end.
        package fileprivate(set) var isAtEnd = false

        /// Both ends are inclusive; nil is open.
        package init(from: Timestamp?, to: Timestamp?) {
            last = RowKey(ts: from?.milliseconds ?? .min, seq: .min)
            end = to?.milliseconds ?? .max
        }
    }

    /// The next events in ascending order of time, at most `limit`.
    @available(*, noasync, message: "blocks on the disk")
    package func next(
        _ cursor: inout EventCursor, limit: Int = pageLimit
    ) throws(StorageError) -> [GeofenceEvent] {
        do throws(SQLiteError) {
            let ids = try sessionIDs()
            let rows = try statements.db.prepare(
                """
                SELECT \(EventRow.columns) FROM events \
                WHERE (ts, seq) > (?, ?) AND ts <= ? ORDER BY ts, seq LIMIT ?
                """)
            try rows.bind([
                .integer(cursor.last.ts), .integer(cursor.last.seq), .integer(cursor.end),
                .integer(Int64(limit)),
            ])
            var events: [GeofenceEvent] = []
            var count = 0
            while try rows.step() {
                count += 1
                cursor.last = RowKey(ts: rows.integer(1), seq: rows.integer(0))
                guard let row = EventRow(rows), let session = ids[row.session] else { continue }
                events.append(row.event(session: session))
            }
            cursor.isAtEnd = count < limit
            return events
        } catch {
            throw StorageError(error)
        }
    }
}
