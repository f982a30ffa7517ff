package import Base
package import Tracking

/// The rows that the next batch will carry, read but not yet frozen.
package struct BatchDraft: Sendable {
    /// All locations of a batch are of one session.
    package let session: UUIDv7
    /// A JSON object; nil when there are no extras.
    package let extras: String?
    /// Oldest first.
    package let locations: [Location]
    /// Oldest first; empty only when there are locations.
    package let events: [GeofenceEvent]
    let members: BatchMembers
    let eventKeys: [RowKey]
}

/// Which rows a batch holds: those between two keys, of one session and one version of the extras, that had arrived
/// when it was frozen, or had been re-queued by then. Naming them so costs one small row, however many there are.
struct BatchMembers: Equatable, Sendable {
    var session: Int64
    var extras: Int64
    var first: RowKey
    var last: RowKey
    /// Later arrivals have higher numbers.
    var maxSeq: Int64
    /// Rows that are re-queued later have lower ones.
    var minSeq: Int64
    var count: Int
    /// Geofence events besides; they name their batch.
    var events: Int

    /// The range of no location: nothing lies at or after its first and at or before its last.
    static let none = (first: RowKey(ts: .max, seq: .max), last: RowKey(ts: .min, seq: .min))

    /// The same rule as `condition`.
    func contains(_ key: RowKey, session: Int64, extras: Int64, isUploaded: Bool) -> Bool {
        !isUploaded && session == self.session && extras == self.extras && key >= first && key <= last
            && key.seq <= maxSeq && key.seq >= minSeq
    }
}

/// A batch whose bytes never change any more.
package struct FrozenBatch: Equatable, Sendable {
    /// The `batch_id`.
    package let id: UUIDv7
    /// All its locations are of one session.
    package let session: UUIDv7
    /// How many locations it was frozen with.
    package let locations: Int
    /// How many geofence events it was frozen with.
    package let events: Int
    /// Compressed, as it goes out.
    package let body: [UInt8]
    /// A part of a rejected batch that is being searched for its poison rows.
    package let isPiece: Bool
    let key: Int64
    let members: BatchMembers

    /// Locations and events.
    package var rows: Int { locations + events }
}

/// What became of a rejected batch.
package enum Rejection: Equatable, Sendable {
    /// Its rows are dead letters now.
    case deadLettered(Int)
    /// It stays frozen and pending: the endpoint is suspected (three in a row).
    case suspected
    /// It stays frozen and pending, because there is no room among the dead letters. That says nothing about the
    /// endpoint: once there is room, it is rejected like any other.
    case full
}
