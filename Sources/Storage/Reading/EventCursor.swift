package import Base
internal import SQLite
package import Tracking

/// A place in a range of events, in ascending order of time. Those that have no time yet come last, unless the range has an
/// end.
package struct EventCursor: HistoryCursor {
    private var last: RowKey
    private let end: Int64
    /// Which kinds of event; nil: all.
    private let codes: [Int]?
    /// The cursor is at the events without a time, which come last, where the range has no end.
    private var isAtUntimed = false
    package private(set) var isAtEnd = false

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

    package mutating func next(
        limit: Int, in history: borrowing History
    ) throws(StorageError) -> [RecordedEvent] {
        do throws(SQLiteError) {
            let ids = try history.sessionIDs()
            var events = isAtUntimed ? [] : try page(limit, ids, history.db)
            if isAtUntimed { events += try page(limit - events.count, ids, history.db) }
            return events
        } catch {
            throw StorageError(error)
        }
    }

    private mutating func page(
        _ limit: Int, _ ids: [Int64: UUIDv7], _ db: Connection
    ) throws(SQLiteError) -> [RecordedEvent] {
        let place =
            isAtUntimed
            ? "ts IS NULL AND seq > ?2 AND ?1 <= ?3 ORDER BY seq"
            : "(ts, seq) > (?1, ?2) AND ts <= ?3 ORDER BY ts, seq"
        let kinds = codes.map { "kind IN (\($0.map(\.description).joined(separator: ", "))) AND " }
        let rows = try db.prepare(
            """
            SELECT \(EventRow.columns), \(EventRow.bootColumns) FROM events \
            WHERE \(kinds ?? "")\(place) LIMIT ?4
            """)
        try rows.bind([
            .integer(last.ts), .integer(last.seq), .integer(end), .integer(Int64(limit)),
        ])
        var events: [RecordedEvent] = []
        var count = 0
        while try rows.step() {
            count += 1
            last.seq = rows.integer(0)
            if !isAtUntimed { last.ts = rows.integer(1) }
            guard let row = EventRow(rows, boot: EventRow.columnCount), let session = ids[row.session]
            else { continue }
            events.append(row.event(session: session))
        }
        if count < limit {
            isAtEnd = isAtUntimed || end < .max
            if !isAtEnd { (isAtUntimed, last.seq) = (true, .min) }
        }
        return events
    }
}
