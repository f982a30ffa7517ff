internal import SQLite
package import Tracking

/// What the store keeps of events besides writing them.
extension Store {
    /// Time can be trusted now: gives each event that has no time yet the one it happened at, in one transaction. Those of
    /// another boot get the latest time that is known of it, marked as an estimate.
    ///
    /// - Returns: how many there were.
    @available(*, noasync, message: "blocks on the disk")
    package func stampEvents(by anchor: EventTime.Anchor) throws(StorageError) -> Int {
        try perform("stamp events") { (writer) throws(SQLiteError) in try writer.stamp(by: anchor) }
    }
}
