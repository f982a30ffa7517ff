package import Base
internal import SQLite
package import Tracking

extension History {
    /// A place in a range of events.
    package struct EventCursor: Sendable {
        var last: RowKey
        let end: Int64
        /// Which kinds of event; nil: all.
        let codes: [Int]?
        /// The cursor is at the events without a time, which come last, where the range has no end.
        var isAtUntimed = false
        /// The range has been read to its end.
        package fileprivate(set) var isAtEnd = false

        /// A cursor over a range. Both ends are inclusive; nil is open.
        ///
        /// - Parameters:
        ///   - crossings: entries into geofences and exits are among them.
        ///   - kinds: so are these.
        package init(
            from: Timestamp?, to: Timestamp?, crossings: Bool = true,
            kinds: Set<VehicleEvent.Kind> = Set(VehicleEvent.Kind.allCases)
        ) {
            last = RowKey(ts: from?.milliseconds ?? .min, seq: .min)
            end = to?.milliseconds ?? .max
            codes =
                crossings && kinds.count == VehicleEvent.Kind.allCases.count
                ? nil : EventRow.codes(crossings: crossings, kinds)
        }
    }

    /// The next events in ascending order of time, at most `limit`. Those that have no time yet come last, unless the range
    /// has an end.
    @available(*, noasync, message: "blocks on the disk")
    package func next(
        _ cursor: inout EventCursor, limit: Int = pageLimit
    ) throws(StorageError) -> [RecordedEvent] {
        do throws(SQLiteError) {
            let ids = try sessionIDs()
            var events = cursor.isAtUntimed ? [] : try page(&cursor, limit, ids)
            if cursor.isAtUntimed { events += try page(&cursor, limit - events.count, ids) }
            return events
        } catch {
            throw StorageError(error)
        }
    }

    private func page(
        _ cursor: inout EventCursor, _ limit: Int, _ ids: [Int64: UUIDv7]
    ) throws(SQLiteError) -> [RecordedEvent] {
        let place =
            cursor.isAtUntimed
            ? "ts IS NULL AND seq > ?2 AND ?1 <= ?3 ORDER BY seq"
            : "(ts, seq) > (?1, ?2) AND ts <= ?3 ORDER BY ts, seq"
        let kinds = cursor.codes.map { "kind IN (\($0.map(\.description).joined(separator: ", "))) AND " }
        let rows = try statements.db.prepare(
            """
            SELECT \(EventRow.columns), \(EventRow.bootColumns) FROM events \
            WHERE \(kinds ?? "")\(place) LIMIT ?4
            """)
        try rows.bind([
            .integer(cursor.last.ts), .integer(cursor.last.seq), .integer(cursor.end), .integer(Int64(limit)),
        ])
        var events: [RecordedEvent] = []
        var count = 0
        while try rows.step() {
            count += 1
            cursor.last.seq = rows.integer(0)
            if !cursor.isAtUntimed { cursor.last.ts = rows.integer(1) }
            guard let row = EventRow(rows, boot: EventRow.columnCount), let session = ids[row.session]
            else { continue }
            events.append(row.event(session: session))
        }
        if count < limit {
            cursor.isAtEnd = cursor.isAtUntimed || cursor.end < .max
            if !cursor.isAtEnd { (cursor.isAtUntimed, cursor.last.seq) = (true, .min) }
        }
        return events
    }
}
