internal import Base
internal import SQLite
internal import Tracking

/// Whether the vehicle is inside each geofence, and since when, by the fences' keys.
struct GeofenceStates {
    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    func all() throws(SQLiteError) -> [Int64: Geofences.Change] {
        let rows = try db.prepare("SELECT key, is_inside, entered_at FROM geofence_states")
        var states: [Int64: Geofences.Change] = [:]
        while try rows.step() {
            states[rows.integer(0)] = Geofences.Change(
                key: rows.integer(0), isInside: rows.integer(1) != 0,
                enteredAt: rows.optionalInteger(2).map { Timestamp(milliseconds: $0) })
        }
        return states
    }

    func set(_ changes: [Geofences.Change]) throws(SQLiteError) {
        guard !changes.isEmpty else { return }
        let write = try db.prepare(
            "INSERT OR REPLACE INTO geofence_states (key, is_inside, entered_at) VALUES (?, ?, ?)")
        for change in changes {
            try write.run(
                .integer(change.key), .integer(change.isInside ? 1 : 0),
                .optional(change.enteredAt?.milliseconds))
        }
    }

    func removeAll() throws(SQLiteError) {
        try db.execute("DELETE FROM geofence_states")
    }

    func remove(_ keys: [Int64]) throws(SQLiteError) {
        let delete = try db.prepare("DELETE FROM geofence_states WHERE key = ?")
        for key in keys { try delete.run(.integer(key)) }
    }
}
