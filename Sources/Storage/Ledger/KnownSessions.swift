internal import Base
internal import Tracking

/// The session that rows are being written to, with what may not be in the database yet.
struct CurrentSession: Equatable, Sendable {
    var key: Int64
    var tail = SessionTail(reference: nil, odometer: 0)
    /// The last sequence number given in this session; one less than the first when it has none.
    var lastSeq: Int64
    /// The number of the run of instants that the tail belongs to, as given with it.
    var run = 0

    /// Whether the session has come to this instant already, in the same run. One that lies further back shows that the clock
    /// was put back, also to a daemon that could not read how far the session had come.
    func hasPassed(_ time: Timestamp, in run: Int?) -> Bool {
        guard let run, run == self.run, let last = tail.reference?.time, time <= last else { return false }
        return last.seconds(since: time) <= ReceiverTime.repetitionLimit
    }
}

/// The sessions in the database.
struct KnownSessions: Equatable, Sendable {
    /// By key.
    private(set) var ids: [Int64: UUIDv7] = [:]
    var current: CurrentSession?
    /// How often the odometer had been set when the newest location was stored.
    var odometerSettings: Int64 = 0

    init() {}

    init(_ ids: [Int64: UUIDv7], current: CurrentSession? = nil) {
        self.ids = ids
        self.current = current
    }

    /// For one that is not there yet.
    var nextKey: Int64 { Bounded.key(besides: ids.keys) }

    func key(of id: UUIDv7) -> Int64? { ids.first { $0.value == id }?.key }

    func isCurrent(_ id: UUIDv7) -> Bool { current.map { ids[$0.key] == id } ?? false }

    mutating func add(_ key: Int64, _ id: UUIDv7) {
        ids[key] = id
    }

    mutating func remove(_ keys: [Int64]) {
        for key in keys { ids[key] = nil }
    }

    /// The positions up to then are deleted.
    mutating func removePositions(upTo cutoff: Timestamp?) {
        current?.tail.vehicle.trip?.open.forgetPlaces(upTo: cutoff)
        guard let time = current?.tail.reference?.time, cutoff.map({ time <= $0 }) ?? true else { return }
        current?.tail.reference = nil
        current?.tail.memory = .init()
    }
}
