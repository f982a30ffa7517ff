package import Base
package import Tracking

/// How the store behaves; all of it may change while it is open.
package struct StoreOptions: Equatable, Sendable {
    /// What a power cut may take: with `full` nothing stored, with `normal` the latest commits.
    package enum Durability: String, Sendable { case full, normal }

    /// Seconds.
    package var retention: Double
    /// Locations kept at most, uploaded and pending together.
    package var maxRows: Int
    /// What the next commit promises.
    package var durability: Durability
    /// Keep acknowledged rows, marked, under the rules of retention.
    package var keepsUploaded: Bool
    /// An upload is configured: rows that are still pending are never pruned by age.
    package var isSyncing: Bool
    /// The cap is not to be trusted: as many rows as there were when the database was opened are kept whatever it is.
    package var holdsRows: Bool

    /// The defaults are those of the configuration.
    package init(
        retention: Double = 7 * 86_400, maxRows: Int = 100_000, durability: Durability = .full,
        keepsUploaded: Bool = false, isSyncing: Bool = false, holdsRows: Bool = false
    ) {
        self.retention = retention
        self.maxRows = maxRows
        self.durability = durability
        self.keepsUploaded = keepsUploaded
        self.isSyncing = isSyncing
        self.holdsRows = holdsRows
    }
}

/// What is known of the last admitted fix of a session, also when its row has left the database.
package struct SessionTail: Equatable, Sendable {
    /// What the gate compares with; nil when nothing has been admitted.
    package var reference: Gate.Reference?
    /// Metres.
    package var odometer: Double
    /// What was known of motion when it was stored.
    package var memory: Admission.Memory

    /// All belong to one session.
    package init(
        reference: Gate.Reference?, odometer: Double, memory: Admission.Memory = Admission.Memory()
    ) {
        self.reference = reference
        self.odometer = odometer
        self.memory = memory
    }
}

/// One start…stop run. Its counts include what has been uploaded and deleted.
package struct SessionRecord: Equatable, Sendable {
    /// As in the uploads.
    package var id: UUIDv7
    /// When tracking was started.
    package var startedAt: Timestamp
    /// When it was stopped; nil while it is under way.
    package var stoppedAt: Timestamp?
    /// Admitted in it.
    package var locations: Int
    /// Metres.
    package var distance: Double
}

/// A location's place in the database: ordered by time, then by arrival.
package struct RowKey: Hashable, Comparable, Sendable {
    /// The time of the fix, Unix milliseconds.
    package var ts: Int64
    /// Counts up with each row that arrives.
    package var seq: Int64

    /// No row lies before this one.
    static let first = RowKey(ts: .min, seq: .min)

    /// No key lies between this one and that. The last of all is its own: a damaged file may hold it.
    var next: RowKey {
        if seq < .max { return RowKey(ts: ts, seq: seq + 1) }
        return ts < .max ? RowKey(ts: ts + 1, seq: .min) : self
    }

    /// Oldest first, as batches and history read them.
    package static func < (left: RowKey, right: RowKey) -> Bool {
        (left.ts, left.seq) < (right.ts, right.seq)
    }
}

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

    /// The same rule as `Statements.isMember`.
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

/// What the store holds, for status.
package struct StoreCounts: Equatable, Sendable {
    /// All rows, uploaded ones that are kept included.
    package var locations = 0
    /// Locations and geofence events that no backend has acknowledged.
    package var pending = 0
    /// The time of the oldest of those; nil when there are none.
    package var oldestPending: Timestamp?
    /// Dead letters.
    package var rejected = 0
    /// Lost for good since this database was created.
    package var losses = Losses()
}
