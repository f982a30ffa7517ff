internal import Base
internal import SQLite
internal import Tracking

/// Finds a location or an event again, in whatever database.
enum RowName: Equatable {
    case location(ts: Int64, id: UUIDv7)
    case event(ts: Int64, id: UUIDv7)

    init(_ new: NewLocation) {
        self = .location(ts: new.location.fix.time.milliseconds, id: new.location.id)
    }

    /// - Returns: nil without events: states may be written twice.
    init?(_ new: NewEvents) {
        guard let event = new.all.first else { return nil }
        self = .event(ts: RowKey.ts(of: event.time), id: event.id)
    }

    func exists(in tables: borrowing Tables) throws(SQLiteError) -> Bool {
        switch self {
        case .location(let ts, let id): try tables.locations.exists(ts: ts, id: id)
        case .event(let ts, let id): try tables.events.exists(ts: ts, id: id)
        }
    }
}
