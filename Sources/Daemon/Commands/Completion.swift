internal import Base
internal import Tracking

/// Names the command that somebody waits for.
typealias Token = Int

/// The result of a command.
enum Completion: Sendable {
    case done
    /// The session in progress.
    case session(UUIDv7)
    /// Number of rows or geofences that it was about.
    case count(Int)
    /// Files that are kept were left as they are.
    case removal(removed: Int, kept: [String])
    /// nil when no fix came in time.
    case location(Location?)
    case synced(SyncResult)
    case rebatched(Rebatched)
    case geofences([Geofences.Item], isLast: Bool)
    /// Settings are in force, so many of the server's were taken back, and these destinations do not go by them yet.
    case adopted(removed: Int, late: [DestinationName])
    /// Settings of the server are stored; these have another value all the same, because somebody has set them here.
    case configured(overridden: [String])

    var count: Int? {
        if case .count(let count) = self { count } else { nil }
    }
}

/// How the attempt that a `sync` asked for went. The names are the control interface's.
struct SyncResult: Sendable {
    enum Outcome: String, Sendable {
        case drained
        case nothingPending = "nothing_pending"
        case transient, auth, permanent, rejected, disabled
    }

    var outcome: Outcome
    var uploaded: Int
    var pending: Int
    /// Rows that were refused for good on the way.
    var rejected = 0
    /// How it failed; nil when it has not, or nobody knows.
    var trouble: Trouble?
    /// Whose outcome it is, where several were asked.
    var destination: DestinationName?

    /// What the server said, or why it said nothing.
    struct Trouble: Equatable, Sendable {
        var httpStatus: Int?
        var mqttCode: Int?
        var error: String?
        var reason: String?
    }
}

/// Why a command was refused, or could not be carried out.
struct CommandFailure: Error, Sendable {
    enum Kind: Sendable {
        case storage, location
        /// Too much is asked for at once; the seconds after which asking again is worth it.
        case busy(seconds: Int)
        case geofence(id: String)
        /// A geofence of this id is a person's, and the server's to leave alone.
        case exists(id: String)
        case setting(key: String)
        case parameter(String)
        /// Text that is no time.
        case time(String)
        /// No batch can be dissolved.
        case noRebatch
        /// Nothing is tracked.
        case notTracking
        /// A person has stopped tracking, and that holds against the server.
        case stoppedByPerson
        /// A caller with more rights could do this.
        case denied
    }

    var kind = Kind.storage
    /// For the operator; empty when the kind says it all.
    var reason = ""
}
