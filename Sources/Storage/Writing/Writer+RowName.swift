internal import Base
internal import SQLite
internal import Tracking

extension Writer {
    /// Finds a location or a geofence event again, in whatever database.
    struct RowName: Equatable {
        let table: String
        let ts: Int64
        let id: UUIDv7

        init(_ new: NewLocation) {
            (table, ts, id) = ("locations", new.location.fix.time.milliseconds, new.location.id)
        }

        /// - Returns: nil without events: states may be written twice.
        init?(_ new: NewCrossings) {
            guard let event = new.events.first else { return nil }
            (table, ts, id) = ("geofence_events", event.crossing.time.milliseconds, event.id)
        }
    }

    func exists(_ name: RowName) throws(SQLiteError) -> Bool {
        let row = try db.prepare("SELECT 1 FROM \(name.table) WHERE ts = ? AND id = ?")
        try row.bind([.integer(name.ts), .blob(name.id.bytes)])
        return try row.step()
    }
}
