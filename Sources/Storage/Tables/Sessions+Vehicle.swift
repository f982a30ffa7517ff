internal import Base
internal import SQLite
internal import Tracking

/// What a session's row says of the vehicle. The newest session of tracking knows the odometer, and the trip under way.
extension Sessions {
    /// nil when nothing has ever been tracked.
    func latestTrackingKey() throws(SQLiteError) -> Int64? {
        let row = try db.prepare("SELECT key FROM sessions WHERE is_tracking = 1 ORDER BY key DESC LIMIT 1")
        return try row.step() ? row.integer(0) : nil
    }

    /// A new session goes on from the one before it. Part of the transaction that makes it.
    func moveVehicle(from former: Int64, to key: Int64) throws(SQLiteError) {
        try db.prepare(
            """
            UPDATE sessions SET (mileage, trip) = (SELECT mileage, trip FROM sessions WHERE key = ?1) WHERE key = ?2
            """
        ).run(.integer(former), .integer(key))
        try db.prepare("UPDATE sessions SET trip = NULL WHERE trip IS NOT NULL AND key <> ?").run(
            .integer(key))
    }

    /// What was last written of the vehicle in this session.
    func vehicle(of key: Int64) throws(SQLiteError) -> VehicleTail {
        let row = try db.prepare("SELECT mileage, trip FROM sessions WHERE key = ?")
        try row.bind([.integer(key)])
        guard try row.step() else { return VehicleTail() }
        return Self.vehicle(mileage: row.optionalInteger(0), trip: row.text(1))
    }

    /// - Parameters:
    ///   - mileage: as it stands in a row.
    ///   - trip: likewise.
    static func vehicle(mileage: Int64?, trip: String?) -> VehicleTail {
        VehicleTail(
            mileage: mileage.flatMap { $0 >= 0 ? $0 : nil }, trip: trip.flatMap { StoredTrip(text: $0) })
    }

    /// Part of the transaction in which it ends or begins.
    func write(trip: StoredTrip?, of key: Int64) throws(SQLiteError) {
        try db.prepare("UPDATE sessions SET trip = ? WHERE key = ?").run(
            .optional(trip?.text), .integer(key))
    }

    /// What has been stored since the trip was written down belongs to it, too.
    func takeUpRows(of key: Int64, in vehicle: inout VehicleTail) throws(SQLiteError) {
        guard var trip = vehicle.trip else { return }
        let rows = try db.prepare(
            "SELECT \(Schema.columns) FROM locations WHERE session = ? AND ts > ? ORDER BY ts, seq")
        try rows.bind([.integer(key), .integer(trip.open.last.time.milliseconds)])
        while try rows.step() {
            if let row = LocationRow(rows, sessionID: { _ in nil }) { trip.open.takeUp(row.location) }
        }
        vehicle.trip = trip
    }

    /// Part of a deletion of positions.
    func removeTripPlaces(upTo cutoff: Timestamp?) throws(SQLiteError) {
        let rows = try db.prepare("SELECT key, trip FROM sessions WHERE trip IS NOT NULL")
        var found: [(key: Int64, trip: StoredTrip?)] = []
        while try rows.step() {
            found.append((rows.integer(0), rows.text(1).flatMap { StoredTrip(text: $0) }))
        }
        for (key, trip) in found {
            var trip = trip
            trip?.open.forgetPlaces(upTo: cutoff)
            try write(trip: trip, of: key)
        }
    }
}
