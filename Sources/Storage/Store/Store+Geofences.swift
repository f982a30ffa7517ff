package import Base
internal import SQLite
package import Tracking

/// What the store keeps of geofences besides their events: whether the vehicle is inside, written in the same transaction
/// as the event.
extension Store {
    /// The states by the fences' keys; nil when this database does not know them all, because it is new.
    @available(*, noasync, message: "blocks on the disk")
    package func geofenceStates() throws(StorageError) -> [Int64: Geofences.Change]? {
        try perform("read geofence states") { (writer) throws(SQLiteError) in try writer.geofenceStates() }
    }

    /// From now on these are the states, and this database knows them all.
    @available(*, noasync, message: "blocks on the disk")
    package func adopt(_ states: [Geofences.Change]) throws(StorageError) {
        try perform("write geofence states") { (writer) throws(SQLiteError) in
            try writer.replaceGeofenceStates(by: states)
        }
    }

    /// The fences are no more.
    @available(*, noasync, message: "blocks on the disk")
    package func forget(geofences keys: [Int64]) throws(StorageError) {
        try perform("forget geofences") { (writer) throws(SQLiteError) in try writer.forget(geofences: keys) }
    }

    /// The session of the events between two sessions of tracking, while it lasts.
    @available(*, noasync, message: "blocks on the disk")
    package func openEventSession() throws(StorageError) -> (id: UUIDv7, startedAt: Timestamp)? {
        try perform("read event session") { (writer) throws(SQLiteError) in
            try writer.tables.sessions.newestOpen(isTracking: false)
        }
    }
}
