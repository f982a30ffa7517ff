internal import Base
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// How the reader is doing, as it last published it.
struct ReaderSnapshot: Sendable {
    enum State: String, Sendable { case idle, tracking, stopped }

    var state = State.idle
    var change = StateChange()
    var session: UUIDv7?
    var sessionStartedAt: Timestamp?
    var lastLocation: Location?
    var health = SourceHealth.released
    var facts = Source.Facts()
    var isTimeSettled = false
    var rollovers = 0
    var refusedTimes = 0
    /// The latest fix was refused for its time.
    var refusal: ReceiverTime.Refusal?
    var fixes = FixCounts()
    var motion = MotionState.unknown
    /// Metres since installation; nil before the store has said where it stood.
    var odometer: Int64?
    /// The trip under way; it has begun once it `hasStarted`.
    var trip: Trips.Open?
    var geofences = 0
    /// nil where nothing of it is configured.
    var vehicle: VehicleReport?
    var waitingInMemory = 0
    /// Across all restarts.
    var refused = 0
    /// When rows that were never uploaded were last lost.
    var lostAt: BootInstant?
    /// The error of the last failed write; nil while storage works.
    var storageError: String?
    /// The newest location that was stored since the start; nil when there is none, or it is being deleted.
    var newest: NewestLocation?
    /// The geofences that there are now; nil before they have been read.
    var fences: [Geofence]?
    /// A summary of the geofences that servers have added; nil before they have been read.
    var fencesOfServers: Geofences.Summary?
    /// What the next stored row carries.
    var extras: [String: String] = [:]
    /// Revision of the settings that the reader goes by.
    var revision = 0
}

/// The envelopes without rows of one destination, while it has heartbeats, or while it has refused one.
struct HeartbeatSnapshot: Equatable, Sendable {
    /// Seconds; 0: there are no heartbeats.
    var interval = 0.0
    /// When the server last accepted one.
    var last: Timestamp?
    /// When the next is due, unless other requests go out before; nil: never.
    var next: BootInstant?
    /// No heartbeat is sent before this, because the server has refused one; nil: it has not.
    var pausedUntil: BootInstant?
    /// HTTP status of that answer.
    var refusal: Int?
    /// The reason that the server gave; nil: none.
    var reason: String?
}

/// What has become of the fixes since the start. `refused` counts those that storage had no room for.
struct FixCounts: Equatable, Sendable {
    var admitted = 0
    var dropped = FixPipeline.Dropped()
    var unsettled = 0
    var untracked = 0
    /// Fixes that repeated an instant.
    var repeated = 0
    var refused = 0
}

/// The state and its reason, as sent to subscribers.
struct StateChange: Equatable, Sendable {
    /// Who or what set the state. The names are the control interface's.
    enum Reason: String, Sendable {
        /// A client asked for it; for a stop, or the server.
        case user
        /// The server asked for it.
        case server
        /// The daemon was tracking when it last ended.
        case resumed
        /// `tracking.autostart`, on the very first run.
        case autostart
        /// `tracking.schedule` has opened.
        case schedule
        /// The ignition was switched on.
        case ignition
        /// Nobody has stopped it: `tracking.schedule` has closed, or the ignition was switched off.
        case system

        /// Why tracking begins.
        init(_ origin: Wish.Origin) {
            self =
                switch origin {
                case .person: .user
                case .server: .server
                case .schedule: .schedule
                case .ignition: .ignition
                }
        }
    }

    var state = ReaderSnapshot.State.idle
    /// nil while idle.
    var reason: Reason?
    /// The current session, or the last one that ended; nil when there has been none.
    var session: UUIDv7?
    /// Whose wish decides whether to track; nil before anybody has said.
    var decidedBy: Wish.Origin?

    /// Who stopped tracking: the user or the system; nil unless it is stopped.
    var stopReason: Reason? { state == .stopped ? reason ?? .user : nil }
}

/// How the uploader is doing, as it last published it.
struct UploaderSnapshot: Equatable, Sendable {
    var isConfigured = false
    var isUploading = false
    var failure: DrainOutcome.Failure?
    var inFlightBatch: UUIDv7?
    var lastAttempt: Timestamp?
    var lastSuccess: Timestamp?
    var lastHTTPStatus: Int?
    /// The reason code of the latest answer, where a broker gave it.
    var lastMQTTCode: Int?
    /// What the server said with the latest answer, if it was no acceptance.
    var lastReason: String?
    var lastError: String?
    /// `lastSuccess` was at another url.
    var isSuccessElsewhere = false
    /// About the newest of the dead letters; nil: none is known.
    var rejection: Refusal?
    /// The error of the last failed operation of the store; nil while storage works.
    var storageError: String?
    /// The server's certificate is not valid yet: the clock is to blame.
    var isClockSuspected = false
    /// What is due waits for a route that is not metered.
    var isDeferred = false
    /// Why that cannot go on for long; nil while it can.
    var deferralWarning: String?
    var auth = AuthState()
    var nextAttempt: BootInstant?
    var uploaded = 0
    var retries = 0
    /// How many times in a row the next batch has failed because of its size or its time.
    var oversizedFailures = 0
    var bytesSent = 0
    /// Answers that were not made for the request under way.
    var unmatchedAnswers = 0
    /// Why Home Assistant has not been told of the vehicle, or still is; nil: all is well.
    var homeAssistant: String?
    /// nil where there are none.
    var heartbeat: HeartbeatSnapshot?
    /// Revision of the settings that the uploader has adopted: it begins nothing by older ones. nil before it
    /// has published anything.
    var revision: Int?
}

/// What subscribers want to know of requests: nobody is handed what none of them wants.
enum RequestInterest: UInt8, AtomicRepresentable, Comparable {
    case none
    case outcomes
    case bodies

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What the threads publish for one another: immutable snapshots, and a few flags.
final class Board: Sendable {
    private let reader = Mutex(ReaderSnapshot())
    private let damaged = Mutex<Set<String>>([])
    /// The daemon is stopping: every loop ends when it sees this.
    let isStopping = Atomic(false)
    /// Somebody subscribes to locations; without subscribers none is handed over.
    let hasListeners = Atomic(false)
    /// NetworkManager calls the network metered; false while nobody asks it.
    let isCalledMetered = Atomic(false)
    /// What subscribers want to know of requests.
    let requestListeners = Atomic(RequestInterest.none)
    let readerWork = Work()

    var readerSnapshot: ReaderSnapshot { reader.withLock { $0 } }
    /// The newest location that was stored since the start; nil when there is none, or it is being deleted.
    var newest: NewestLocation? { reader.withLock { $0.newest } }
    /// What the next stored row carries.
    var extras: [String: String] { reader.withLock { $0.extras } }

    /// The geofences that there are now; nil before they have been read.
    var fences: [Geofence]? { reader.withLock { $0.fences } }

    /// Names of small files that were found damaged and have not been rewritten by a user's action since.
    var damagedFiles: Set<String> { damaged.withLock { $0 } }

    func note(damaged name: String) {
        damaged.withLock { _ = $0.insert(name) }
    }

    func note(renewed name: String) {
        damaged.withLock { _ = $0.remove(name) }
    }

    func publish(_ snapshot: ReaderSnapshot) {
        reader.withLock { $0 = snapshot }
    }
}

/// Whether a thread makes progress: it is asleep, or has been busy since an instant.
final class Work: Sendable {
    private let busySince = Atomic<Int64>(0)

    /// Measured, not of the turn: a turn may have several pieces.
    func begin(_ now: BootInstant = .current()) {
        busySince.store(max(now.nanoseconds, 1), ordering: .relaxed)
    }

    func rest() {
        busySince.store(0, ordering: .relaxed)
    }

    /// For how many seconds the thread has been at the same piece of work.
    func busyFor(_ now: BootInstant) -> Double {
        let since = busySince.load(ordering: .relaxed)
        return since == 0 ? 0 : now.seconds(since: BootInstant(nanoseconds: since))
    }
}

extension BootInstant {
    /// Read once per wake-up, in the loops only.
    static func current() -> BootInstant {
        BootInstant(nanoseconds: Clock.boot())
    }
}
