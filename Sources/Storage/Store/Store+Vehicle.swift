package import Base
internal import SQLite
package import Tracking

/// What the store knows of the vehicle besides its locations.
extension Store {
    /// The odometer and the trip under way, as of the newest location.
    @available(*, noasync, message: "blocks on the disk")
    package func vehicle() throws(StorageError) -> VehicleMemory {
        try perform("read odometer") { (writer) throws(SQLiteError) in try writer.vehicle() }
    }
}

extension History {
    /// The trips that have ended and touch this time, oldest first; both ends are inclusive, nil is open.
    @available(*, noasync, message: "blocks on the disk")
    package func trips(from: Timestamp?, to: Timestamp?) throws(StorageError) -> [Trip] {
        do {
            return try TripTable.all(statements.db, from: from, to: to)
        } catch {
            throw StorageError(error)
        }
    }
}
