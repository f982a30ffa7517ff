internal import Base
internal import SQLite
internal import Tracking

/// A geofence event as a row: the mapping between the domain's words and the stored codes, in one place.
struct EventRow {
    /// Events are numbered separately: the numbers of locations give the count of a session.
    var key: RowKey
    var session: Int64
    var extras: Int64
    /// Without its session, of which the row has only the key.
    private var stored: GeofenceEvent

    var id: UUIDv7 { stored.id }
    var crossing: Crossing { stored.crossing }

    /// In the order of `values`, without `uploaded`.
    static let columns = "seq, ts, session, id, kind, subject, extras, lat, lng, accuracy, fence_added_at"

    // The position in the list is the stored code: append only.
    private static let kinds: [Crossing.Kind] = [.enter, .exit]

    init(key: RowKey, session: Int64, extras: Int64, event: GeofenceEvent) {
        self.key = key
        self.session = session
        self.extras = extras
        stored = event
    }

    /// The values for `columns`.
    var values: [Value] {
        [
            .integer(key.seq), .integer(key.ts), .integer(session), .blob(id.bytes),
            .integer(Int64(Self.kinds.firstIndex(of: crossing.kind) ?? 0)), .text(crossing.geofence),
            .integer(extras), .optional(stored.coordinate?.latitude), .optional(stored.coordinate?.longitude),
            .optional(stored.accuracy), .optional(stored.fenceAddedAt?.milliseconds),
        ]
    }

    /// Reads a row that was selected with `columns`; nil for one that no version of beekond writes.
    init?(_ row: borrowing Statement) {
        guard let id = UUIDv7(bytes: row.blob(3)), let geofence = row.text(5),
            let code = Int(exactly: row.integer(4)), Self.kinds.indices.contains(code)
        else { return nil }
        key = RowKey(ts: row.integer(1), seq: row.integer(0))
        session = row.integer(2)
        extras = row.integer(6)
        let coordinate = row.optionalReal(7).flatMap { latitude in
            row.optionalReal(8).flatMap { Coordinate(latitude: latitude, longitude: $0) }
        }
        stored = GeofenceEvent(
            id: id, session: id,
            crossing: Crossing(
                geofence: geofence, kind: Self.kinds[code], time: Timestamp(milliseconds: key.ts)),
            coordinate: coordinate, accuracy: row.optionalReal(9),
            fenceAddedAt: row.optionalInteger(10).map { Timestamp(milliseconds: $0) })
    }

    func event(session: UUIDv7) -> GeofenceEvent {
        var event = stored
        event.session = session
        return event
    }
}
