internal import Base
internal import SQLite
internal import Tracking

/// A geofence event as a row: the mapping between the domain's words and the stored codes, in one place.
struct EventRow {
    /// Events are numbered separately: the numbers of locations give the count of a session.
    var key: RowKey
    var session: Int64
    var extras: Int64
    var id: UUIDv7
    var crossing: Crossing

    /// In the order of `values`, without `uploaded` and `batch`.
    static let columns = "ts, seq, session, id, geofence, kind, extras"

    // The position in the list is the stored code: append only.
    private static let kinds: [Crossing.Kind] = [.enter, .exit]

    init(key: RowKey, session: Int64, extras: Int64, event: GeofenceEvent) {
        self.key = key
        self.session = session
        self.extras = extras
        id = event.id
        crossing = event.crossing
    }

    /// The values for `columns`.
    var values: [Value] {
        [
            .integer(key.ts), .integer(key.seq), .integer(session), .blob(id.bytes), .text(crossing.geofence),
            .integer(Int64(Self.kinds.firstIndex(of: crossing.kind) ?? 0)), .integer(extras),
        ]
    }

    /// Reads a row that was selected with `columns`; nil for one that no version of beekond writes.
    init?(_ row: borrowing Statement) {
        guard let id = UUIDv7(bytes: row.blob(3)), let geofence = row.text(4),
            let code = Int(exactly: row.integer(5)), Self.kinds.indices.contains(code)
        else { return nil }
        key = RowKey(ts: row.integer(0), seq: row.integer(1))
        session = row.integer(2)
        extras = row.integer(6)
        self.id = id
        crossing = Crossing(
            geofence: geofence, kind: Self.kinds[code], time: Timestamp(milliseconds: key.ts))
    }

    func event(session: UUIDv7) -> GeofenceEvent {
        GeofenceEvent(id: id, session: session, crossing: crossing)
    }
}
