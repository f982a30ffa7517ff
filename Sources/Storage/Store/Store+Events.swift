internal import SQLite
package import Tracking

/// What the store keeps of events besides writing them.
extension Store {
    /// The newest event of this kind that is stored, by when it was stored; nil when there is none.
    @available(*, noasync, message: "blocks on the disk")
    package func latestEvent(of kind: VehicleEvent.Kind) throws(StorageError) -> VehicleEvent? {
        try perform("read latest event") { (writer) throws(SQLiteError) in
            let ids = writer.ledger.sessions.ids
            guard let row = try writer.tables.events.latest(of: kind), let session = ids[row.session],
                case .vehicle(let event) = row.event(session: session)
            else { return nil }
            return event
        }
    }

    /// Time can be trusted now: gives each event that has no time yet the one it happened at, in one transaction. Those of
    /// another boot get the latest time that is known of it, marked as an estimate.
    ///
    /// - Returns: how many there were.
    @available(*, noasync, message: "blocks on the disk")
    package func stampEvents(by anchor: EventTime.Anchor) throws(StorageError) -> Int {
        try perform("stamp events") { (writer) throws(SQLiteError) in try writer.stamp(by: anchor) }
    }
}
