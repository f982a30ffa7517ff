internal import Base
internal import SQLite
internal import Tracking

/// The odometer and the trips.
extension Writer {
    /// How often the odometer had been set when the newest location was stored.
    static let odometerSettings = "odometer_settings"

    /// What was known with the newest location, which may have left.
    func vehicle() throws(SQLiteError) -> VehicleMemory {
        guard let key = try tables.sessions.latestTrackingKey() else { return VehicleMemory() }
        let isCurrent = ledger.sessions.current?.key == key
        let loaded = isCurrent ? nil : try tables.sessions.load(key, tailIsWritten: tailsAreWritten)
        guard let tail = (loaded ?? ledger.sessions.current)?.tail else { return VehicleMemory() }
        let odometer = tail.vehicle.mileage.map { mileage in
            Odometer.Memory(
                metres: Double(mileage), settings: Int(clamping: ledger.sessions.odometerSettings),
                place: tail.reference.map { Odometer.Place(time: $0.time, coordinate: $0.coordinate) })
        }
        return VehicleMemory(odometer: odometer, trip: tail.vehicle.trip)
    }

    /// Writes trips that end without a location. Part of a transaction.
    ///
    /// - Returns: the session whose row says which trip is under way.
    func write(_ new: NewTrips) throws(SQLiteError) -> Int64? {
        try tables.trips.insert(new.ended)
        guard let key = try tables.sessions.latestTrackingKey() else { return nil }
        try tables.sessions.write(trip: new.open, of: key)
        return key
    }
}
