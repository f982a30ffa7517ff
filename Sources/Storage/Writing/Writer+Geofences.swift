internal import Base
internal import SQLite
internal import Tracking

extension Writer {
    /// Set once the states in this database are all that is known of them: not in one that has just been made in the place
    /// of a lost one.
    private static let knowsStates = "knows_geofence_states"

    /// The states by key; nil when this database has never been told them all.
    func geofenceStates() throws(SQLiteError) -> [Int64: Bool]? {
        guard try counter(Self.knowsStates) == 1 else { return nil }
        let rows = try db.prepare("SELECT key, is_inside FROM geofence_states")
        var states: [Int64: Bool] = [:]
        while try rows.step() { states[rows.integer(0)] = rows.integer(1) != 0 }
        return states
    }

    /// From now on these, and no others, are the states.
    func adopt(_ states: [Geofences.Change]) throws(SQLiteError) {
        try db.transaction { () throws(SQLiteError) in
            try db.execute("DELETE FROM geofence_states")
            try write(states)
            try setCounter(Self.knowsStates, 1)
        }
    }

    /// Part of a transaction.
    func write(_ changes: [Geofences.Change]) throws(SQLiteError) {
        guard !changes.isEmpty else { return }
        let write = try db.prepare("INSERT OR REPLACE INTO geofence_states (key, is_inside) VALUES (?, ?)")
        for change in changes { try write.run(.integer(change.key), .integer(change.isInside ? 1 : 0)) }
    }

    /// The fences are no more.
    func forget(geofences keys: [Int64]) throws(SQLiteError) {
        try db.transaction { () throws(SQLiteError) in
            let delete = try db.prepare("DELETE FROM geofence_states WHERE key = ?")
            for key in keys { try delete.run(.integer(key)) }
        }
    }

    /// The session of the events between two sessions of tracking, while it lasts.
    func openEventSession() throws(SQLiteError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try Self.openSession(db, isTracking: false)
    }

    /// The newest session without an end.
    static func openSession(
        _ db: borrowing Connection, isTracking: Bool
    ) throws(SQLiteError) -> (id: UUIDv7, startedAt: Timestamp)? {
        let row = try db.prepare(
            """
            SELECT id, started_at FROM sessions WHERE is_tracking = \(isTracking ? 1 : 0) AND stopped_at IS NULL \
            ORDER BY key DESC LIMIT 1
            """)
        guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
        return (id, Timestamp(milliseconds: row.integer(1)))
    }
}
