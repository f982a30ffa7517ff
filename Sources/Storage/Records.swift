public import Tracking

/// How the store behaves; all of it may change while it is open.
public struct StoreOptions: Equatable, Sendable {
    /// What a power cut may take: with `full` nothing stored, with `normal` the latest commits.
    public enum Durability: String, Sendable { case full, normal }

    /// Seconds.
    public var retention: Double
    /// Locations kept at most, uploaded and pending together.
    public var maxRows: Int
    /// What the next commit promises.
    public var durability: Durability
    /// Keep acknowledged rows, marked, under the rules of retention.
    public var keepsUploaded: Bool
    /// An upload is configured: rows that are still pending are never pruned by age.
    public var isSyncing: Bool
    /// The cap is not to be trusted: as many rows as there were when the database was opened are kept whatever it is.
    public var holdsRows: Bool

    /// The defaults are those of the configuration.
    public init(
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
public struct SessionTail: Equatable, Sendable {
    /// What the gate compares with; nil when nothing has been admitted.
    public var reference: Gate.Reference?
    /// Metres.
    public var odometer: Double
    /// What was known of motion when it was stored.
    public var memory: Admission.Memory

    /// All belong to one session.
    public init(
        reference: Gate.Reference?, odometer: Double, memory: Admission.Memory = Admission.Memory()
    ) {
        self.reference = reference
        self.odometer = odometer
        self.memory = memory
    }
}

/// One start…stop run. Its counts include what has been uploaded and deleted.
public struct SessionRecord: Equatable, Sendable {
    /// As in the uploads.
    public var id: UUIDv7
    /// When tracking was started.
    public var startedAt: Timestamp
    /// When it was stopped; nil while it is under way.
    public var stoppedAt: Timestamp?
    /// Admitted in it.
    public var locations: Int
    /// Metres.
    public var distance: Double
}

/// A location's place in the database: ordered by time, then by arrival.
public struct RowKey: Hashable, Comparable, Sendable {
    /// The time of the fix, Unix milliseconds.
    public var ts: Int64
    /// Counts up with each row that arrives.
    public var seq: Int64

    /// No row lies before this one.
    static let first = RowKey(ts: .min, seq: .min)

    /// Oldest first, as batches and history read them.
    public static func < (left: RowKey, right: RowKey) -> Bool {
        (left.ts, left.seq) < (right.ts, right.seq)
    }
}

/// The rows that the next batch will carry, read but not yet frozen.
public struct BatchDraft: Sendable {
    /// All locations of a batch are of one session.
    public let session: UUIDv7
    /// A JSON object; nil when there are no extras.
    public let extras: String?
    /// Oldest first.
    public let locations: [Location]
    /// Oldest first; empty only when there are locations.
    public let events: [GeofenceEvent]
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
public struct FrozenBatch: Equatable, Sendable {
    /// The `batch_id`.
    public let id: UUIDv7
    /// All its locations are of one session.
    public let session: UUIDv7
    /// How many locations it was frozen with.
    public let locations: Int
    /// How many geofence events it was frozen with.
    public let events: Int
    /// Compressed, as it goes out.
    public let body: [UInt8]
    /// A part of a rejected batch that is being searched for its poison rows.
    public let isPiece: Bool
    let key: Int64
    let members: BatchMembers
}

/// What became of a rejected batch.
public enum Rejection: Equatable, Sendable {
    /// Its rows are dead letters now.
    case deadLettered(Int)
    /// It stays frozen and pending: the endpoint is suspected (three in a row).
    case suspected
    /// It stays frozen and pending, because there is no room among the dead letters. That says nothing about the
    /// endpoint: once there is room, it is rejected like any other.
    case full
}

/// What the store holds, for status.
public struct StoreCounts: Equatable, Sendable {
    /// All rows, uploaded ones that are kept included.
    public var locations = 0
    /// Locations and geofence events that no backend has acknowledged.
    public var pending = 0
    /// The time of the oldest of those; nil when there are none.
    public var oldestPending: Timestamp?
    /// Dead letters.
    public var rejected = 0
    /// Lost for good since this database was created.
    public var losses = Losses()
}
